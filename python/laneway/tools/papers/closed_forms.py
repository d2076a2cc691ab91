"""``laneway model``: closed forms of a paper, drawn as its figure and compared with what it says in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from laneway.tools.papers.model import Scenario, compare, modelled, print_verdicts
from laneway.tools.places import talk

_RULE_COLOURS = {
    "standard": "#9a9a9a",
    "3-step": "#d9772b",
    "2-step all": "#4878a8",
    "2-step 1": "#6a9f58",
    "split + MD": "#c44e52",
    "split + DD": "#8b6bb1",
}


def _draw_strategies(axes: Axes, scenario: Scenario, names: Sequence[str]) -> None:
    """Some strategies, and circles at the smallest time of all but the best case."""
    for name in names:
        style = "--" if name.endswith("device-aware") else "-"
        axes.plot(scenario.sizes, scenario.seconds[name], style, color=_RULE_COLOURS[name.split(",")[0]], label=name)
    least = [scenario.seconds[name][i] for i, name in enumerate(scenario.winners())]
    axes.plot(scenario.sizes, least, "o", markersize=5, markerfacecolor="none", color="black", label="smallest")


def draw_closed_forms(scenarios: Sequence[Scenario], path: Path) -> None:
    """Modelled times, laid out as Figure 4.3 of Lockhart et al.

    For each number of nodes all strategies above, the smallest times beside 2-Step 1 below; a column for each number of
    messages.
    """
    nodes = sorted({scenario.nodes for scenario in scenarios})
    messages = sorted({scenario.messages for scenario in scenarios})
    heights = [2.2, 1.2] * len(nodes)
    figure, grid = plt.subplots(
        len(heights), len(messages), figsize=(5.2 * len(messages), 1.9 * sum(heights)), sharex=True, squeeze=False,
        height_ratios=heights, layout="constrained",
    )  # fmt: skip
    for scenario in scenarios:
        row, column = 2 * nodes.index(scenario.nodes), messages.index(scenario.messages)
        usual = scenario.strategies(best_case=False)
        _draw_strategies(grid[row][column], scenario, usual)
        _draw_strategies(grid[row + 1][column], scenario, [name for name in scenario.seconds if name not in usual])
        grid[row][column].set_title(str(scenario), fontsize=10)
    for axes in grid.flat:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("bytes of a message")
    for axes in grid[:, 0]:
        axes.set_ylabel("seconds")
    for axes in grid[:2, -1]:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    # The same input gives the same file.
    with plt.rc_context({"svg.hashsalt": "laneway", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def run(paper: str, duplicates: float, output: Path) -> None:
    """Compute a paper's figure, draw it and print the winners."""
    scenarios = modelled(paper, duplicates)
    draw_closed_forms(scenarios, output)
    console = talk.console()
    print_verdicts(console, compare(scenarios))
    console.print(f"Figure: {output}", highlight=False)
