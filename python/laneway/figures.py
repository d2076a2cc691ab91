"""Pictures of measured and modelled times."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from laneway.calibrate import LINKS, PATHS, Calibration  # noqa: E402

if TYPE_CHECKING:
    from laneway.model import Scenario
    from laneway.validate import Case

COLOURS = {"mpi": "#9a9a9a", "direct": "#4878a8", "auto": "#6a9f58", "three_step": "#d9772b", "three_step_nodedup": "#e8b98a"}
_LINE_COLOURS = tuple(f"C{index}" for index in range(10))
_OTHER_COLOURS = ("#8b6bb1", "#c44e52", "#937860")


@dataclass(frozen=True)
class Bar:
    """One candidate of one case: its median time and the time that the links allow."""

    case: str
    candidate: str
    median_seconds: float
    limit_seconds: float | None = None


@dataclass(frozen=True)
class NodeMatrix:
    """Bytes from each node (row) to each node (column)."""

    case: str
    candidate: str
    node_bytes: Sequence[Sequence[float]]


def _save(figure: Figure, stem: Path) -> list[Path]:
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    for path in paths:
        figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)
    return paths


def _colour(candidate: str, candidates: Sequence[str]) -> str:
    others = [name for name in candidates if name not in COLOURS]
    return COLOURS.get(candidate) or _OTHER_COLOURS[others.index(candidate) % len(_OTHER_COLOURS)]


def draw_times(bars: Sequence[Bar], title: str, stem: Path) -> list[Path]:
    """Median times as grouped bars, with the limit of the links as a line across each group."""
    cases = list(dict.fromkeys(bar.case for bar in bars))
    candidates = list(dict.fromkeys(bar.candidate for bar in bars))
    figure, axes = plt.subplots(figsize=(max(6.0, 2.2 * len(cases)), 4.2))
    width = 0.8 / len(candidates)
    for index, candidate in enumerate(candidates):
        own = [bar for bar in bars if bar.candidate == candidate]
        at = [cases.index(bar.case) - 0.4 + (index + 0.5) * width for bar in own]
        heights = [bar.median_seconds * 1e3 for bar in own]
        drawn = axes.bar(at, heights, width, label=candidate, color=_colour(candidate, candidates))
        axes.bar_label(drawn, fmt="%.3g", fontsize=8, padding=2)
    limits = {bar.case: bar.limit_seconds for bar in bars if bar.limit_seconds}
    for number, (case, seconds) in enumerate(limits.items()):
        middle = cases.index(case)
        label = "limit of the links" if number == 0 else "_nolegend_"
        axes.hlines(seconds * 1e3, middle - 0.45, middle + 0.45, colors="black", linestyles="dashed", label=label)
    axes.set_yscale("log")
    axes.margins(y=0.15)
    axes.set_xticks(range(len(cases)), cases)
    axes.set_ylabel("median time of an exchange [ms]")
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return _save(figure, stem)


def _bytes_text(count: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.0f}"


def draw_matrices(matrices: Sequence[NodeMatrix], stem: Path) -> list[Path]:
    """Bytes between nodes: one row of pictures for each case, one column for each candidate, one scale a row."""
    cases = list(dict.fromkeys(matrix.case for matrix in matrices))
    candidates = list(dict.fromkeys(matrix.candidate for matrix in matrices))
    size = (3.4 * len(candidates) + 0.8, 3.1 * len(cases) + 0.4)
    figure, grid = plt.subplots(len(cases), len(candidates), figsize=size, squeeze=False, layout="constrained")
    for axes in grid.flat:
        axes.set_axis_off()
    for row, case in enumerate(cases):
        own = [matrix for matrix in matrices if matrix.case == case]
        tables = [np.array(matrix.node_bytes, dtype=float) for matrix in own]
        between = [np.where(np.eye(len(table), dtype=bool), 0.0, table) for table in tables]
        top = max((float(table.max()) for table in between if table.size), default=0.0) or 1.0
        image = None
        for matrix, table in zip(own, between, strict=True):
            axes = grid[row][candidates.index(matrix.candidate)]
            axes.set_axis_on()
            image = axes.imshow(table, cmap="Blues", vmin=0, vmax=top)
            axes.set_xticks(range(len(table)))
            axes.set_yticks(range(len(table)))
            axes.set_xlabel("to node")
            axes.set_ylabel("from node")
            axes.set_title(f"{matrix.candidate}: {_bytes_text(float(table.sum()))}B", fontsize=9)
            if axes is grid[row][0]:
                axes.annotate(
                    textwrap.fill(case.replace(",", ", "), 28),
                    (0, 0.5),
                    xytext=(-axes.yaxis.labelpad - 34, 0),
                    xycoords="axes fraction",
                    textcoords="offset points",
                    rotation=90,
                    ha="right",
                    va="center",
                    multialignment="center",
                    fontsize=9,
                )
            for (source, target), count in np.ndenumerate(table):
                if source != target and len(table) <= 8:
                    shade = "white" if count > 0.6 * top else "black"
                    axes.text(target, source, _bytes_text(count), ha="center", va="center", fontsize=7, color=shade)
        if image is not None:
            scale = figure.colorbar(image, ax=list(grid[row]), label="bytes between nodes", shrink=0.85)
            scale.ax.yaxis.set_major_formatter(lambda count, _: _bytes_text(count))
    return _save(figure, stem)


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


def _draw_link(axes: Axes, name: str, calibration: Calibration) -> None:
    series, fit = calibration.series[f"links.{name}"], calibration.fits[f"links.{name}"]
    for record in series.records:
        seconds = np.array(record["seconds"]) * 1e6
        axes.plot(np.full(len(seconds), max(record["bytes"], 0.5)), seconds, ".", color="#c8c8c8", ms=3, zorder=1)
    sizes = np.maximum(series.column("bytes"), 0.5)
    axes.plot(sizes, series.seconds * 1e6, "o", color="#4878a8", ms=4, label="minimum", zorder=3)
    begin = 0.5
    for piece, colour in zip(fit.pieces, _OTHER_COLOURS, strict=False):
        end = piece.up_to or sizes.max()
        at = np.geomspace(begin, end, 60)
        axes.plot(at, (piece.alpha + piece.beta * at) * 1e6, color=colour, lw=2, label=piece.name, zorder=2)
        if piece.up_to is not None:
            axes.axvline(piece.up_to, color="black", ls=":", lw=0.8)
        begin = end
    axes.set_title(f"{name}: one message at a time, {fit.residual:.1%} off", fontsize=9)
    axes.set_xlabel("bytes")


def _draw_overhead(axes: Axes, path: str, calibration: Calibration) -> None:
    series, fit = calibration.series[f"overhead.{path}"], calibration.fits[f"overhead.{path}"]
    wait, message, *byte = fit.coefficients
    for size, colour in zip(sorted(set(series.column("bytes"))), ("#4878a8", *_OTHER_COLOURS), strict=False):
        some = series.where("bytes", [size])
        messages = some.column("messages")
        predicted = wait + messages * (message + size * sum(byte))
        axes.plot(messages, some.seconds * 1e6, "o", color=colour, ms=4, label=f"{size:,.0f} B")
        axes.plot(messages, predicted * 1e6, color=colour, lw=1.5)
    axes.set_title(f"{path}: all ranks busy, {fit.residual:.1%} off", fontsize=9)
    axes.set_xlabel("messages that each rank sends and receives")


def draw_calibration(calibration: Calibration, title: str, path: Path) -> None:
    """What was measured and what was fitted to it: one picture for each link class, and for each way of messages."""
    rows = [
        (_draw_link, [name for name in LINKS if f"links.{name}" in calibration.fits]),
        (_draw_overhead, [name for name in PATHS if f"overhead.{name}" in calibration.fits]),
    ]
    columns = max(1, *(len(names) for _, names in rows))
    figure, grid = plt.subplots(len(rows), columns, figsize=(4.2 * columns, 7), squeeze=False, layout="constrained")
    for axes in grid.flat:
        axes.set_axis_off()
    for (draw, names), pictures in zip(rows, grid, strict=True):
        for name, axes in zip(names, pictures, strict=False):
            axes.set_axis_on()
            draw(axes, name, calibration)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.set_ylabel("µs")
            axes.legend(frameon=False, fontsize=8)
            axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_predictions(cases: Sequence[Case], path: Path) -> None:
    """Predicted against measured seconds, a part for each strategy; those that were chosen are filled."""
    strategies = sorted({name for case in cases for name in case.strategies})
    figure, grid = plt.subplots(
        1, len(strategies), figsize=(3.2 * len(strategies), 3.4), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, name in zip(grid[0], strategies, strict=True):
        with_it = [case for case in cases if name in case.strategies and case.predicted[name] > 0]
        measured = np.array([case.measured[name] for case in with_it])
        predicted = np.array([case.predicted[name] for case in with_it])
        chosen = np.array([case.chosen == name for case in with_it], dtype=bool)
        axes.plot(measured[~chosen], predicted[~chosen], "o", ms=4, color="#4878a8", markerfacecolor="none")
        axes.plot(measured[chosen], predicted[chosen], "o", ms=4, color="#d9772b")
        axes.set(xscale="log", yscale="log", title=name, xlabel="measured seconds")
        axes.axline((1e-4, 1e-4), (1e-3, 1e-3), color="black", lw=0.8, ls=":")
        axes.spines[["top", "right"]].set_visible(False)
    grid[0][0].set_ylabel("predicted seconds")
    figure.savefig(path)
    plt.close(figure)


@dataclass(frozen=True)
class Value:
    """A point of a line in a panel."""

    panel: str
    line: str
    x: float
    y: float
    dotted: bool = False


def _draw_panel(axes: Axes, values: Sequence[Value]) -> None:
    for colour, line in zip(itertools.cycle(_LINE_COLOURS), dict.fromkeys(value.line for value in values)):
        for style, dotted in (("o-", False), (":", True)):
            chosen = sorted((value.x, value.y) for value in values if value.line == line and value.dotted == dotted)
            if chosen:
                label = f"{line}, modelled" if dotted else line
                axes.plot([at for at, _ in chosen], [height for _, height in chosen], style, ms=3, color=colour, label=label)


# With more lines than that, a legend in each panel would hide them; there is one for all.
_LINES_OF_A_PANEL = 6


def draw_lines(
    values: Sequence[Value],
    x: str,
    y: str,
    path: Path,
    *,
    reference: float | None = None,
    logarithmic: bool = False,
    columns: int = 4,
) -> None:
    """Lines in panels; x is logarithmic, y where it is said. A horizontal line marks the reference."""
    panels = list(dict.fromkeys(value.panel for value in values))
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.4 * columns, 2.9 * rows), squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        own = [value for value in values if value.panel == panel]
        _draw_panel(axis, own)
        if reference is not None:
            axis.axhline(reference, color="black", lw=0.6)
        axis.set_xscale("log", base=2)
        if logarithmic:
            axis.set_yscale("log")
        axis.set_title(panel, fontsize=8)
        axis.set_xlabel(x, fontsize=8)
        axis.set_ylabel(y, fontsize=8)
        axis.tick_params(labelsize=7)
    lines = [tuple(dict.fromkeys(value.line for value in values if value.panel == panel)) for panel in panels]
    if len(set(lines)) == 1 and len(lines[0]) > _LINES_OF_A_PANEL:
        figure.tight_layout(rect=(0, 0.4 / figure.get_figheight(), 1, 1))
        figure.legend(*axes.flat[0].get_legend_handles_labels(), fontsize=7, loc="lower center", ncols=len(lines[0]))
    else:
        for axis in axes.flat[: len(panels)]:
            axis.legend(fontsize=6)
        figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
