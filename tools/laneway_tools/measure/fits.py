"""Robust fits of times that are sums of terms with coefficients that are not negative."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

PROTOCOLS = {1: ("eager",), 2: ("eager", "rendezvous"), 3: ("short", "eager", "rendezvous")}

_REWEIGHTINGS = 12
_NOISE = 0.01
_FEWEST_SIZES = 4


@dataclass(frozen=True)
class Residuals:
    """For each sample the predicted time ÷ the measured one, less 1."""

    residuals: tuple[float, ...]

    @property
    def residual(self) -> float:
        """The median of their absolute values."""
        return float(np.median(np.abs(self.residuals)))

    @property
    def samples(self) -> int:
        return len(self.residuals)


@dataclass(frozen=True)
class Fit(Residuals):
    """One coefficient for each term."""

    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Piece:
    """Messages up to a size take ``alpha + beta * bytes`` seconds."""

    name: str
    up_to: int | None
    alpha: float
    beta: float


@dataclass(frozen=True)
class Protocols(Residuals):
    """Pieces by ascending size; the last is for all larger messages."""

    pieces: tuple[Piece, ...]

    def piece(self, size: float) -> Piece:
        return next(piece for piece in self.pieces if piece.up_to is None or size <= piece.up_to)

    def seconds(self, size: float) -> float:
        piece = self.piece(size)
        return piece.alpha + piece.beta * size


def fit_terms(terms: Sequence[ArrayLike], seconds: ArrayLike) -> Fit:
    """Coefficients c >= 0 that minimise the sum of |c·terms ÷ seconds - 1|, by reweighted least squares.

    Relative errors make short messages count as much as long ones; absolute values instead of squares let a few
    disturbed samples count little.
    """
    measured = np.asarray(seconds, dtype=float)
    table = np.column_stack([np.broadcast_to(np.asarray(term, dtype=float), measured.shape) for term in terms])
    table /= measured[:, None]
    scale = np.maximum(table.max(axis=0), np.finfo(float).tiny)
    table /= scale
    weights = np.ones_like(measured)
    for _ in range(_REWEIGHTINGS):
        coefficients, _ = nnls(table * weights[:, None], weights)
        residuals = table @ coefficients - 1
        weights = 1 / np.sqrt(np.maximum(np.abs(residuals), _NOISE / 10))
    return Fit(tuple(map(float, residuals)), tuple(map(float, coefficients / scale)))


def fit_protocols(sizes: ArrayLike, seconds: ArrayLike) -> Protocols:
    """``alpha + beta * bytes`` in one to three pieces; where they meet and how many there are is found from the data.

    For each number of pieces the best switch points are found by dynamic programming over all of them. Schwarz's
    criterion (BIC) for errors with Laplace's distribution picks the number. Its penalty is doubled, since the best of
    all switch points fits noise better than a given one: with 35 sizes, another piece has to lower the mean relative
    error by a quarter. Errors below 1% are taken for noise.
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(seconds, dtype=float)
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]

    @cache
    def line(begin: int, end: int) -> Fit:
        return fit_terms((1.0, x[begin:end]), y[begin:end])

    cuts = _best_cuts(len(x), lambda begin, end: float(np.abs(line(begin, end).residuals).sum()))
    ends = min(cuts, key=lambda ends: _criterion(ends, cuts[ends], len(x)))
    begins = (0, *ends[:-1])
    lines = [line(begin, end) for begin, end in zip(begins, ends, strict=True)]
    limits = [*(int(x[end - 1]) for end in ends[:-1]), None]
    pieces = tuple(Piece(name, up_to, *fit.coefficients) for name, up_to, fit in zip(PROTOCOLS[len(ends)], limits, lines, strict=True))
    return Protocols(tuple(residual for fit in lines for residual in fit.residuals), pieces)


def _criterion(ends: tuple[int, ...], error: float, samples: int) -> float:
    parameters = 3 * len(ends) - 1
    return 2 * samples * math.log(max(error / samples, _NOISE)) + 2 * parameters * math.log(samples)


def _best_cuts(samples: int, cost: Callable[[int, int], float]) -> dict[tuple[int, ...], float]:
    """For each number of pieces, where they end and the sum of their costs."""
    best: dict[int, tuple[tuple[int, ...], float]] = {
        end: ((end,), cost(0, end)) for end in range(min(_FEWEST_SIZES, samples), samples + 1)
    }
    found = dict([best[samples]])
    for _ in range(len(PROTOCOLS) - 1):
        longer: dict[int, tuple[tuple[int, ...], float]] = {}
        for end in range(samples + 1):
            options = [((*ends, end), error + cost(begin, end)) for begin, (ends, error) in best.items() if end - begin >= _FEWEST_SIZES]
            if options:
                longer[end] = min(options, key=lambda option: option[1])
        best = longer
        if samples in best:
            found |= dict([best[samples]])
    return found
