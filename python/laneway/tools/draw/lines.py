"""Lines in panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from laneway.tools.draw import style


@dataclass(frozen=True)
class Value:
    """A point of a line in a panel."""

    panel: str
    line: str
    x: float
    y: float
    dotted: bool = False


def _draw_panel(axes: Axes, values: Sequence[Value], lines: Sequence[str]) -> None:
    for line in lines:
        own = style.style_of(line, lines)
        for drawn, dotted in (("-", False), (":", True)):
            chosen = sorted((value.x, value.y) for value in values if value.line == line and value.dotted == dotted)
            if chosen:
                axes.plot(
                    [at for at, _ in chosen],
                    [height for _, height in chosen],
                    drawn,
                    marker=None if dotted else own.marker,
                    ms=4,
                    color=own.colour,
                    label=f"{line}, modelled" if dotted else line,
                )


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
    """Lines in panels, with one legend below all; x is logarithmic, y where it is said, and in bytes where its label begins so.
    A horizontal line marks the reference."""
    panels = list(dict.fromkeys(value.panel for value in values))
    lines = list(dict.fromkeys(value.line for value in values))
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with style.pictures():
        figure, grid = plt.subplots(rows, columns, figsize=(3.4 * columns, 2.9 * rows + 0.6), squeeze=False, layout="constrained")
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        used = list(grid.flat[: len(panels)])
        for axes, panel in zip(used, panels, strict=True):
            _draw_panel(axes, [value for value in values if value.panel == panel], lines)
            if reference is not None:
                axes.axhline(reference, color="black", lw=0.6)
            axes.set_xscale("log", base=2)
            style.scale(axes.xaxis, style.bytes_text if x.startswith("bytes") else None)
            if logarithmic:
                axes.set_yscale("log")
                style.scale(axes.yaxis)
            axes.set_title(panel, fontsize=8)
            axes.set_xlabel(x, fontsize=8)
            axes.set_ylabel(y, fontsize=8)
            axes.tick_params(which="both", labelsize=7)
            axes.locator_params(axis="x", numticks=5)
        style.legend_below(figure, used, columns=2 * columns)
        style.save(figure, path)
