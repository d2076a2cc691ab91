"""One exchange over time: a row for each rank, its steps by carrier, and the critical path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from laneway_tools.draw import style
from laneway_tools.measure.trace import Exchange, Segment

_CARRIERS = ("messages", "memory", "copies", "device")


def draw(exchange: Exchange, path: Sequence[Segment], output: Path) -> None:
    """Bars are steps; the line is the critical path, which jumps from rank to rank with messages."""
    ranks = sorted(exchange.parts)
    used = [name for name in _CARRIERS if any(step.carrier == name for part in exchange.parts.values() for step in part.steps)]
    with style.pictures():
        figure, axes = plt.subplots(figsize=(10, 1.8 + 0.42 * len(ranks)), layout="constrained")
        for row, rank in enumerate(ranks):
            part = exchange.parts[rank]
            axes.plot(
                *zip(*[((time - exchange.begin) * 1e-9, row) for time in (part.started, part.completed)], strict=True), color="0.8", lw=1
            )
            for number, carrier in enumerate(used):
                bars = [
                    ((step.begin - exchange.begin) * 1e-9, max(step.end - step.begin, 1) * 1e-9)
                    for step in part.steps
                    if step.carrier == carrier and step.end >= 0
                ]
                height = 0.7 / len(used)
                low = row - 0.35 + number * height
                colour = style.style_of(carrier, _CARRIERS).colour
                axes.broken_barh(bars, (low, height), color=colour, alpha=0.55, label=carrier if row == 0 else None)
        times, rows = [], []
        for segment in path:
            for time in (segment.begin, segment.end):
                times.append((time - exchange.begin) * 1e-9)
                rows.append(ranks.index(segment.rank))
        axes.plot(times, rows, color="black", lw=2, label="critical path")
        axes.set(yticks=range(len(ranks)), yticklabels=[f"rank {rank}" for rank in ranks], xlim=(0, exchange.seconds))
        axes.invert_yaxis()
        style.scale(axes.xaxis, style.seconds_text)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=5, fontsize=8)
        style.save(figure, output)
