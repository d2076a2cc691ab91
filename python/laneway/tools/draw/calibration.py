"""What calibration has measured, and what was fitted to it."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from laneway.tools.draw.colours import OTHER_COLOURS
from laneway.tools.measure.calibrate import LINKS, PATHS, Calibration


def _draw_link(axes: Axes, name: str, calibration: Calibration) -> None:
    series, fit = calibration.series[f"links.{name}"], calibration.fits[f"links.{name}"]
    for record in series.records:
        seconds = np.array(record["seconds"]) * 1e6
        axes.plot(np.full(len(seconds), max(record["bytes"], 0.5)), seconds, ".", color="#c8c8c8", ms=3, zorder=1)
    sizes = np.maximum(series.column("bytes"), 0.5)
    axes.plot(sizes, series.seconds * 1e6, "o", color="#4878a8", ms=4, label="minimum", zorder=3)
    begin = 0.5
    for piece, colour in zip(fit.pieces, OTHER_COLOURS, strict=False):
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
    for size, colour in zip(sorted(set(series.column("bytes"))), ("#4878a8", *OTHER_COLOURS), strict=False):
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
