"""What samples say of their median: 95% intervals by resampling (bootstrap, percentile method), the same each time.

With NumPy alone: the demo has no SciPy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SEED = 20240229
"""That of laneway-bench, too."""
_RESAMPLES = 2000
Samples = Sequence[float] | np.ndarray


def resampled_medians(samples: Samples, random: np.random.Generator, resamples: int = _RESAMPLES) -> np.ndarray:
    """Medians that the samples might as well have had."""
    return np.median(random.choice(np.asarray(samples), (resamples, len(samples))), axis=1)


def interval(drawn: np.ndarray) -> tuple[float, float]:
    """Where 95 of 100 of these are."""
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def interval_of_median(samples: Samples) -> tuple[float, float]:
    """Of the samples' median."""
    return interval(resampled_medians(samples, np.random.default_rng(SEED)))


def interval_of_ratio(above: Samples, below: Samples) -> tuple[float, float]:
    """Of the ratio of two medians: both are resampled, each by itself."""
    random = np.random.default_rng(SEED)
    return interval(resampled_medians(above, random) / resampled_medians(below, random))
