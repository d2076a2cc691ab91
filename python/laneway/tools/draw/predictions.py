"""Predicted against measured times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from laneway.tools.measure.validate import Case


def draw_predictions(cases: Sequence[Case], path: Path) -> None:
    """Predicted against measured seconds, a part for each strategy; those that were chosen are filled."""
    strategies = sorted({name for case in cases for name in case.strategies})
    figure, grid = plt.subplots(
        1, len(strategies), figsize=(3.2 * len(strategies), 3.4), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, name in zip(grid[0], strategies, strict=True):
        with_it = [case for case in cases if name in case.strategies and case.predicted[name] > 0]
        measured = np.array([case.measured[name] for case in with_it])
        predicted = np.array([case.predicted[name] for case in with_it])
        chosen = np.array([case.chosen == name for case in with_it], dtype=bool)
        axes.plot(measured[~chosen], predicted[~chosen], "o", ms=4, color="#4878a8", markerfacecolor="none")
        axes.plot(measured[chosen], predicted[chosen], "o", ms=4, color="#d9772b")
        axes.set(xscale="log", yscale="log", title=name, xlabel="measured seconds")
        axes.axline((1e-4, 1e-4), (1e-3, 1e-3), color="black", lw=0.8, ls=":")
        axes.spines[["top", "right"]].set_visible(False)
    grid[0][0].set_ylabel("predicted seconds")
    figure.savefig(path)
    plt.close(figure)
