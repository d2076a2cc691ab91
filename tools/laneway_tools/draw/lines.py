"""Lines in panels; bars where there is one place on the horizontal axis."""

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


def _draw_panel(axes: Axes, values: Sequence[Value], lines: Sequence[str], dotted_label: str) -> None:
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
                    label=dotted_label.format(line=line) if dotted else line,
                )


def _draw_bars(axes: Axes, values: Sequence[Value], lines: Sequence[str], y_text: Callable[[float], str]) -> None:
    """One bar a line, with its name and its value."""
    shown = [line for line in lines if any(value.line == line for value in values)]
    heights = [next(value.y for value in values if value.line == line) for line in shown]
    bars = axes.barh(range(len(shown)), heights, color=[style.style_of(line, lines).colour for line in shown], height=0.7)
    axes.bar_label(bars, [y_text(height) for height in heights], padding=3)
    axes.set_yticks(range(len(shown)), shown)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.2 * max(heights))
    style.scale(axes.xaxis, y_text)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")


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


def draw_lines(
    values: Sequence[Value],
    x: str | Mapping[str, str],
    y: str,
    path: Path,
    *,
    y_text: Callable[[float], str] = "{:g}".format,
    reference: float | None = None,
    logarithmic: bool = False,
    dotted_label: str = "{line}, modelled",
) -> Path:
    """Lines in up to four panels, two in a row, with one legend. x is the label of all or of each panel, in bytes where it begins
    so, and logarithmic; y says which direction is better, and is logarithmic where it is said, with ticks by ``y_text``. A horizontal line
    marks the reference. A panel with one x has bars. ``dotted_label``: of a dotted line in the legend."""
    panels = list(dict.fromkeys(value.panel for value in values))
    lines = list(dict.fromkeys(value.line for value in values))
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with style.pictures():
        size = (style.TWO_COLUMNS_INCHES if columns > 1 else style.ONE_COLUMN_INCHES, 3.0 * rows + 0.6)
        figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        used, free = list(grid.flat[: len(panels)]), list(grid.flat[len(panels) :])
        labelled = set(map(id, grid[:, 0]))
        for axes, panel in zip(used, panels, strict=True):
            own = [value for value in values if value.panel == panel]
            where = x if isinstance(x, str) else x[panel]
            if len({value.x for value in own}) == 1:
                text = style.bytes_text if where.startswith("bytes") else style.count_text
                axes.set_title(f"{panel}, {where}: {text(own[0].x)}")
                _draw_bars(axes, own, lines, y_text)
                axes.set_xlabel(y)
                labelled.update(map(id, used))  # no other panel has this label in its row
                continue
            _draw_panel(axes, own, lines, dotted_label)
            if reference is not None:
                axes.axhline(reference, color="black", lw=0.6)
            _scale_panel(axes, own, where, y_text, logarithmic)
            axes.set_title(panel)
            if id(axes) in labelled:
                axes.set_ylabel(y.replace(" (", "\n("))
        style.legend_below(figure, used, columns=2 * columns + 1, free=free[0] if free else None)
        style.save(figure, path)
    return path
