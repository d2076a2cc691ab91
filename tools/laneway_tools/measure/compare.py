"""``laneway compare``: the same cases measured twice, before and after a change or with two MPI libraries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from laneway_tools.measure import bootstrap, results
from laneway_tools.measure.results import Record
from laneway_tools.places.errors import UserError

_CASE = ("benchmark", "op", "pattern", "bytes", "heavy_bytes", "ranks", "machine", "devices", "memory", "path", "level", "where", "library")

Key = tuple[object, ...]


@dataclass(frozen=True)
class Comparison:
    """One candidate of one case: medians in seconds, the second's time as a share of the first's, and its 95% interval."""

    case: str
    candidate: str
    first: float
    second: float
    ratio: float
    low: float
    high: float

    def verdict(self) -> str:
        """What the interval shows."""
        if self.high < 1:
            return f"{1 - self.ratio:.0%} faster"
        if self.low > 1:
            return f"{self.ratio - 1:.0%} slower"
        return "no difference shown"


def _hashable(value: object) -> object:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _samples(records: Sequence[Record]) -> dict[Key, list[float]]:
    """Seconds by case and candidate; those of several launches together."""
    found: dict[Key, list[float]] = {}
    for record in records:
        seconds = record.get("samples_s")
        if isinstance(seconds, list) and seconds and record.get("candidate"):
            key = (*(_hashable(record.get(name)) for name in _CASE), record["candidate"])
            found.setdefault(key, []).extend(map(float, seconds))
    return found


def _describe(key: Key) -> str:
    parts = dict(zip(_CASE, key, strict=False))
    named = [str(parts[name]) for name in ("benchmark", "op", "pattern") if parts[name] is not None]
    named += [f"{parts['bytes']} B"] if parts["bytes"] is not None else []
    named += [f"level {parts['level']}"] if parts["level"] is not None else []
    named += [str(parts[name]) for name in ("where", "library") if parts[name] is not None]
    return " ".join(named) + f", {parts['ranks']} ranks, {parts['machine']}"


def pair(first: Sequence[Record], second: Sequence[Record]) -> list[Comparison]:
    """What both files have, in the order of the first."""
    ours, theirs = _samples(first), _samples(second)
    pairs = []
    for key, seconds in ours.items():
        if key not in theirs:
            continue
        a, b = np.array(seconds), np.array(theirs[key])
        before, after = float(np.median(a)), float(np.median(b))
        pairs.append(Comparison(_describe(key[:-1]), str(key[-1]), before, after, after / before, *bootstrap.interval_of_ratio(b, a)))
    return pairs


def humanised(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _sources(first: Sequence[Record], second: Sequence[Record]) -> list[str]:
    """What the runs differ in, by their provenance."""
    runs = [dict(next((record["run"] for record in records if record.get("run")), {})) for records in (first, second)]  # type: ignore[call-overload]
    names = [name for name in dict.fromkeys([*runs[0], *runs[1]]) if name != "date" and runs[0].get(name) != runs[1].get(name)]
    return [f"{name}: {runs[0].get(name, '-')} → {runs[1].get(name, '-')}" for name in names]


def text_of(pairs: Sequence[Comparison]) -> str:
    """A heading for each case, a line for each of its candidates, and what all show together."""
    lines = [f"  {'candidate':24}{'first':>10}{'second':>10}  {'ratio (95%)':20}"]
    last = ""
    for one in pairs:
        if one.case != last:
            lines.append(one.case)
        last = one.case
        ratio = f"{one.ratio:.3f} ({one.low:.3f}-{one.high:.3f})"
        lines.append(f"  {one.candidate:24.24}{humanised(one.first):>10}{humanised(one.second):>10}  {ratio:20} {one.verdict()}".rstrip())
    mean = math.exp(float(np.mean([math.log(one.ratio) for one in pairs])))
    counts = [sum(test(one) for one in pairs) for test in (lambda o: o.high < 1, lambda o: o.low > 1)]
    rest = len(pairs) - sum(counts)
    lines.append(
        f"{len(pairs)} compared: {counts[0]} faster, {counts[1]} slower, {rest} without a difference; geometric mean of the ratios {mean:.3f}"
    )
    return "\n".join(lines)


def run(first: Path, second: Path) -> str:
    """Compare two files of ``laneway-bench … --json``; the text to print."""
    records = []
    for path in (first, second):
        file = path / "results.jsonl" if path.is_dir() else path
        if not file.is_file():
            raise UserError(f"{file}: there is no such file")
        records.append(results.read(file))
    pairs = pair(*records)
    if not pairs:
        raise UserError(f"{first} and {second} have no case and candidate in common")
    return "\n".join([*_sources(*records), text_of(pairs)])
