"""Times of exchanges, and bytes that they move between nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from laneway_tools.draw import style
from laneway_tools.measure import bootstrap


@dataclass(frozen=True)
class Bar:
    """One candidate of one case: its median time, the time that the links allow, and what was measured, in seconds."""

    case: str
    candidate: str
    median_seconds: float
    limit_seconds: float | None = None
    samples: Sequence[float] = ()


@dataclass(frozen=True)
class NodeMatrix:
    """Bytes from each node (row) to each node (column)."""

    case: str
    candidate: str
    node_bytes: Sequence[Sequence[float]]


_PANELS = 4


def _speedup(base: Bar, bar: Bar) -> tuple[float, float, float]:
    """Over the first, with the 95% interval of the ratio of medians; without samples, no interval."""
    ratio = base.median_seconds / bar.median_seconds
    if not base.samples or not bar.samples:
        return ratio, ratio, ratio
    low, high = bootstrap.interval_of_ratio(base.samples, bar.samples)
    return ratio, min(low, ratio), max(high, ratio)


def draw_times(bars: Sequence[Bar], title: str, stem: Path) -> list[Path]:
    """How many times as fast as the first candidate (the MPI library's own) each other is, a row for each case: dots with 95%
    intervals; a stroke is what the links allow."""
    cases = list(dict.fromkeys(bar.case for bar in bars))
    candidates = list(dict.fromkeys(bar.candidate for bar in bars))
    base = candidates[0]
    with style.pictures():
        figure, axes = plt.subplots(figsize=(8.0, 1.4 + 0.8 * len(cases)), layout="constrained")
        axes.axvline(1.0, color=style.style_of(base, candidates).colour, lw=1, label=base)
        for row, case in enumerate(cases):
            own = {bar.candidate: bar for bar in bars if bar.case == case}
            if base not in own:
                continue
            for index, name in enumerate(candidates[1:]):
                if name not in own:
                    continue
                drawn = style.style_of(name, candidates)
                ratio, low, high = _speedup(own[base], own[name])
                at = row + (index - (len(candidates) - 2) / 2) * 0.7 / len(candidates)
                label = name if name not in axes.get_legend_handles_labels()[1] else None
                error = [[ratio - low], [high - ratio]]
                axes.errorbar([ratio], [at], xerr=error, fmt=drawn.marker, color=drawn.colour, ms=6, capsize=3, label=label)
            if limit := own[base].limit_seconds:
                axes.plot([own[base].median_seconds / limit] * 2, [row - 0.35, row + 0.35], color="black", lw=1.5)
        axes.set_yticks(range(len(cases)), [case.replace("\n", " ") for case in cases])
        axes.set_ylim(len(cases) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"times as fast as {base}")
        axes.set_title(title)
        style.legend_below(figure, [axes])
        return style.save(figure, stem.with_suffix(".png"), stem.with_suffix(".svg"))


def _shown(matrices: Sequence[NodeMatrix]) -> list[NodeMatrix]:
    """At most four panels: of more, the first and the last candidate of the first two cases."""
    if len(matrices) <= _PANELS:
        return list(matrices)
    cases = list(dict.fromkeys(matrix.case for matrix in matrices))[: _PANELS // 2]
    candidates = list(dict.fromkeys(matrix.candidate for matrix in matrices))
    ends = {candidates[0], candidates[-1]}
    return [matrix for matrix in matrices if matrix.case in cases and matrix.candidate in ends]


def draw_matrices(matrices: Sequence[NodeMatrix], stem: Path) -> list[Path]:
    """Bytes between nodes: a row of panels for each case, a column for each candidate, one scale a row; at most four panels."""
    matrices = _shown(matrices)
    cases = list(dict.fromkeys(matrix.case for matrix in matrices))
    candidates = list(dict.fromkeys(matrix.candidate for matrix in matrices))
    with style.pictures():
        size = (4.0 * len(candidates) + 0.8, 3.6 * len(cases) + 0.4)
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
                image = _draw_matrix(axes, matrix, table, top)
                if axes is grid[row][0]:
                    axes.set_ylabel(textwrap.fill(case.replace(",", ", "), 26) + "\n\nfrom node", fontsize=8)
            if image is not None:
                shades = figure.colorbar(image, ax=list(grid[row]), label="between two nodes", shrink=0.85)
                shades.set_ticks(np.linspace(0, top, 5))
                style.scale(shades.ax.yaxis, style.bytes_text)
        return style.save(figure, stem.with_suffix(".png"), stem.with_suffix(".svg"))


def _draw_matrix(axes: Axes, matrix: NodeMatrix, table: np.ndarray, top: float) -> AxesImage:
    axes.set_axis_on()
    image = axes.imshow(table, cmap="Blues", vmin=0, vmax=top)
    axes.set_xticks(range(len(table)))
    axes.set_yticks(range(len(table)))
    axes.set_xlabel("to node")
    axes.set_title(f"{matrix.candidate}: {style.bytes_text(float(table.sum()))}", fontsize=9)
    for (source, target), count in np.ndenumerate(table):
        if source != target and len(table) <= 8:
            shade = "white" if count > 0.6 * top else "black"
            text = style.bytes_text(count).replace(" ", "\n")
            axes.text(target, source, text, ha="center", va="center", fontsize=7, color=shade)
    return image
