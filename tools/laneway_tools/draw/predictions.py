"""Predicted against measured times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from laneway_tools.draw import style
from laneway_tools.measure.validate import Case


def draw_predictions(cases: Sequence[Case], path: Path) -> None:
    """Predicted against measured seconds of each strategy in each case; those that were chosen are filled."""
    strategies = sorted({name for case in cases for name in case.strategies})
    with style.pictures():
        figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
        for name in strategies:
            own = style.style_of(name, strategies)
            with_it = [case for case in cases if name in case.strategies and case.predicted[name] > 0]
            for chosen in (False, True):
                some = [case for case in with_it if (case.chosen == name) == chosen]
                axes.plot(
                    [case.measured[name] for case in some],
                    [case.predicted[name] for case in some],
                    own.marker,
                    ms=7 if chosen else 4,
                    color=own.colour,
                    markerfacecolor=own.colour if chosen else "none",
                    markeredgecolor="black" if chosen else own.colour,
                    zorder=3 if chosen else 2,
                    label=name if chosen else None,
                )
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="measured time",
            ylabel="predicted time",
            title="on the line: as predicted; large and filled: chosen in its case",
        )
        axes.axline((1e-4, 1e-4), (1e-3, 1e-3), color="black", lw=0.8, ls=":")
        for axis in (axes.xaxis, axes.yaxis):
            style.scale(axis, style.seconds_text)
        style.legend_below(figure, [axes])
        style.save(figure, path)
