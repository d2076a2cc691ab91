"""``laneway model``: closed forms of a paper, drawn as its figure and compared with what it says in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from laneway_tools.draw import style
from laneway_tools.papers.model import Scenario, compare, modelled, print_verdicts, print_winners
from laneway_tools.places import talk

_MARKED = 4  # every so many sizes


def _draw_strategies(axes: Axes, scenario: Scenario) -> None:
    """All strategies, those of device-aware messages dashed, and circles at the smallest time of all but the best case."""
    names = list(scenario.seconds)
    for number, name in enumerate(names):
        own = style.style_of(name, names)
        line = "--" if name.endswith("device-aware") else "-"
        marked = (number % _MARKED, _MARKED)
        axes.plot(
            scenario.sizes, scenario.seconds[name], line, color=own.colour, marker=own.marker, ms=4, lw=1.2, markevery=marked, label=name
        )
    least = [scenario.seconds[name][i] for i, name in enumerate(scenario.winners())]
    axes.plot(scenario.sizes, least, "o", ms=8, markerfacecolor="none", color="black", label="smallest, without 2-step 1")


def draw_closed_forms(scenarios: Sequence[Scenario], path: Path) -> None:
    """Modelled times of the scenarios of Figure 4.3 of Lockhart et al.: a row for each number of nodes, a column for each number
    of messages."""
    nodes = sorted({scenario.nodes for scenario in scenarios})
    messages = sorted({scenario.messages for scenario in scenarios})
    with style.pictures():
        size = (style.TWO_COLUMNS_INCHES / 2 * len(messages), 3.4 * len(nodes) + 0.8)
        figure, grid = plt.subplots(len(nodes), len(messages), figsize=size, squeeze=False, layout="constrained")
        for scenario in scenarios:
            axes = grid[nodes.index(scenario.nodes)][messages.index(scenario.messages)]
            _draw_strategies(axes, scenario)
            axes.set_title(str(scenario))
        for axes in grid.flat:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            style.ticks_at(axes.xaxis, scenarios[0].sizes)
            style.scale(axes.xaxis, style.bytes_text)
            style.some_decades(axes.yaxis)
            style.scale(axes.yaxis, style.seconds_text)
        for axes in grid[-1]:
            axes.set_xlabel("bytes of a message")
        for axes in grid[:, 0]:
            axes.set_ylabel("modelled time\n(lower is better)")
        style.legend_below(figure, list(grid.flat))
        style.save(figure, path)


def run(paper: str, duplicates: float, output: Path, machine: str = "") -> None:
    """Compute a paper's figure, draw it and print the winners; on another ``machine`` there are no statements to compare with."""
    scenarios = modelled(paper, duplicates, machine)
    draw_closed_forms(scenarios, output)
    console = talk.console()
    if machine in ("", paper):
        print_verdicts(console, compare(scenarios))
    else:
        print_winners(console, scenarios, machine)
    console.print(f"Figure: {output}", highlight=False)
