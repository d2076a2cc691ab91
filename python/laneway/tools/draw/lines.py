"""Lines in panels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

_LINE_COLOURS = tuple(f"C{index}" for index in range(10))


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
