"""Times of exchanges, and bytes that they move between nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from laneway.tools.draw.colours import colour_of


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
        drawn = axes.bar(at, heights, width, label=candidate, color=colour_of(candidate, candidates))
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
