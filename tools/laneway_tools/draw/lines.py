"""Lines in panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from laneway_tools.draw import style

_COLUMNS = 2


@dataclass(frozen=True)
class Value:
    """A point of a line in a panel."""

    panel: str
    line: str
    x: float
    y: float
    dotted: bool = False


def _draw_panel(axes: Axes, values: Sequence[Value], lines: Sequence[str]) -> None:
    """Earlier lines are thicker, so that those under others are seen."""
    for number, line in enumerate(lines):
        own, thick = style.style_of(line, lines), 1 - number / len(lines)
        for drawn, dotted in (("-", False), (":", True)):
            chosen = sorted((value.x, value.y) for value in values if value.line == line and value.dotted == dotted)
            if chosen:
                axes.plot(
                    [at for at, _ in chosen],
                    [height for _, height in chosen],
                    drawn,
                    marker=None if dotted else own.marker,
                    ms=4 + 2.5 * thick,
                    lw=1.2 + 1.6 * thick,
                    color=own.colour,
                    label=f"{line}, modelled" if dotted else line,
                )


def _scale_panel(axes: Axes, values: Sequence[Value], x: str, y_text: Callable[[float], str], logarithmic: bool) -> None:
    axes.set_xscale("log", base=2)
    style.ticks_at(axes.xaxis, sorted({value.x for value in values}))
    style.scale(axes.xaxis, style.bytes_text if x.startswith("bytes") else style.count_text)
    if logarithmic:
        axes.set_yscale("log")
        style.some_decades(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
        if y_text is style.bytes_text:
            style.byte_ticks(axes.yaxis)
    style.scale(axes.yaxis, y_text)
    axes.set_xlabel(x)
    axes.tick_params(which="both", labelsize=8)


def draw_lines(
    values: Sequence[Value],
    x: str | Mapping[str, str],
    y: str,
    path: Path,
    *,
    y_text: Callable[[float], str] = "{:g}".format,
    reference: float | None = None,
    logarithmic: bool = False,
) -> Path:
    """Lines in up to four panels, two in a row, with one legend. x is the label of all or of each panel, in bytes where it begins
    so, and logarithmic; y is so where it is said, with ticks by ``y_text``. A horizontal line marks the reference."""
    panels = list(dict.fromkeys(value.panel for value in values))
    lines = list(dict.fromkeys(value.line for value in values))
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with style.pictures():
        size = (4.2 * columns if columns > 1 else 6.0, 3.0 * rows + 0.6)
        figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        used, free = list(grid.flat[: len(panels)]), list(grid.flat[len(panels) :])
        for axes, panel in zip(used, panels, strict=True):
            own = [value for value in values if value.panel == panel]
            _draw_panel(axes, own, lines)
            if reference is not None:
                axes.axhline(reference, color="black", lw=0.6)
            _scale_panel(axes, own, x if isinstance(x, str) else x[panel], y_text, logarithmic)
            axes.set_title(panel, fontsize=9)
        for axes in grid[:, 0]:
            axes.set_ylabel(y)
        style.legend_below(figure, used, columns=2 * columns + 1, free=free[0] if free else None)
        style.save(figure, path)
    return path
