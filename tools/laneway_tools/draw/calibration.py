"""What calibration has measured, and what was fitted to it."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from laneway_tools.draw import style
from laneway_tools.measure.calibrate import LINKS, PATHS, Calibration


def _draw_link(axes: Axes, name: str, own: style.Style, calibration: Calibration) -> None:
    series, fit = calibration.series[f"links.{name}"], calibration.fits[f"links.{name}"]
    sizes = np.maximum(series.column("bytes"), 0.5)
    for record in series.records:
        seconds = np.array(record["seconds"])
        axes.plot(np.full(len(seconds), max(record["bytes"], 0.5)), seconds, ".", color=own.colour, alpha=0.15, ms=2)
    axes.plot(sizes, series.seconds, own.marker, color=own.colour, ms=4, label=f"{name}, {fit.residual:.0%} off")
    begin = 0.5
    for piece in fit.pieces:
        end = piece.up_to or sizes.max()
        at = np.geomspace(begin, end, 60)
        axes.plot(at, piece.alpha + piece.beta * at, color=own.colour, lw=1.5)
        if piece.up_to is not None:
            axes.plot([end], [piece.alpha + piece.beta * end], "|", color=own.colour, ms=12)
        begin = end


def _draw_overhead(axes: Axes, path: str, own: style.Style, calibration: Calibration) -> None:
    series, fit = calibration.series[f"overhead.{path}"], calibration.fits[f"overhead.{path}"]
    wait, message, *byte = fit.coefficients
    for number, size in enumerate(sorted(set(series.column("bytes")))):
        some = series.where("bytes", [size])
        messages = some.column("messages")
        predicted = wait + messages * (message + size * sum(byte))
        drawn = ("-", "--", "-.", ":")[number % 4]
        axes.plot(messages, some.seconds, own.marker, color=own.colour, ms=4)
        axes.plot(messages, predicted, drawn, color=own.colour, lw=1.5, label=f"{path}, {style.bytes_text(size)}, {fit.residual:.0%} off")


def draw_calibration(calibration: Calibration, title: str, path: Path) -> None:
    """Two panels: one message at a time on each link, ranks that are all busy on each way of messages; lines are fits, a stroke
    across one is the end of a protocol."""
    links = [name for name in LINKS if f"links.{name}" in calibration.fits]
    ways = [name for name in PATHS if f"overhead.{name}" in calibration.fits]
    with style.pictures():
        figure, grid = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
        for axes, names, draw in zip(grid, (links, ways), (_draw_link, _draw_overhead), strict=True):
            for name in names:
                draw(axes, name, style.style_of(name, names), calibration)
            axes.set(xscale="log", yscale="log")
            axes.set_xscale("log", base=2)
            style.scale(axes.yaxis, style.seconds_text)
            if names:
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=8)
        style.scale(grid[0].xaxis, style.bytes_text)
        style.scale(grid[1].xaxis)
        grid[0].locator_params(axis="x", numticks=6)
        grid[0].set(xlabel="bytes of a message", ylabel="time", title="one message at a time")
        grid[1].set(xlabel="messages that each rank sends and receives", title="all ranks busy")
        figure.suptitle(title)
        style.save(figure, path)
