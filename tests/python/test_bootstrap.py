"""Intervals of medians, beside what is known of them and what SciPy finds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laneway_tools.measure import bootstrap


def test_resampled_medians_are_distributed_as_drawn() -> None:
    """The median of five that are drawn is at most the k-th of the samples where three or more are."""
    medians = bootstrap.resampled_medians([5.0, 1.0, 4.0, 2.0, 3.0], np.random.default_rng(1), 20000)
    for k in range(1, 6):
        p = k / 5
        expected = sum(math.comb(5, n) * p**n * (1 - p) ** (5 - n) for n in (3, 4, 5))
        assert np.mean(medians <= k) == pytest.approx(expected, abs=0.015)


def test_intervals_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(2)
    above, below = random.lognormal(0.5, 0.2, 200), random.lognormal(0, 0.2, 150)
    options = {"n_resamples": 4000, "method": "percentile", "random_state": 3, "vectorized": True}
    theirs = stats.bootstrap((above,), np.median, **options).confidence_interval
    assert bootstrap.interval_of_median(above) == pytest.approx(tuple(theirs), rel=0.01)
    ratio = stats.bootstrap((above, below), lambda a, b, axis: np.median(a, axis) / np.median(b, axis), **options).confidence_interval
    assert bootstrap.interval_of_ratio(above, below) == pytest.approx(tuple(ratio), rel=0.01)


def test_intervals_hold_the_median_in_some_95_of_100_cases() -> None:
    random = np.random.default_rng(4)
    held = [low <= 1 <= high for low, high in (bootstrap.interval_of_median(random.normal(1, 0.3, 30)) for _ in range(300))]
    assert 0.9 < np.mean(held) < 0.99


def test_intervals_are_the_same_each_time() -> None:
    samples = [1.0, 1.2, 0.9, 1.1]
    assert bootstrap.interval_of_median(samples) == bootstrap.interval_of_median(list(samples))
