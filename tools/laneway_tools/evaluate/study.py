"""What was measured, by case and contestant, and comparisons with their intervals."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from laneway_tools.measure import bootstrap
from laneway_tools.measure.results import Record, number

_RESAMPLES = 400
LEAST_DIFFERENCE = 0.01
"""What differs by less is not worth a sentence, however narrow its interval: virtual times have none."""
CONTROL = "control"
OWN = "mpi"
_NAMES = (
    (re.compile(r"Open MPI v?(\d[\w.]*)"), "Open MPI {}"),
    (re.compile(r"MVAPICH\S*\s+Version\s*:?\s*(\d[\w.]*)"), "MVAPICH {}"),
    (re.compile(r"CRAY MPICH version (\d[\w.]*)"), "Cray MPICH {}"),
    (re.compile(r"Intel\(R\) MPI Library (\d[\w.]*)"), "Intel MPI {}"),
    (re.compile(r"MPICH Version:\s*(\d[\w.]*)"), "MPICH {}"),
    (re.compile(r"SMPI Version (\d+(?:\.\d+)*)"), "SMPI {}"),
)
_CANDIDATES = {
    OWN: "{}",
    "mpi_persistent": "{}, persistent",
    "loop": "a plain loop over {}",
    "consensus": "Issend and Ibarrier over {}",
    "staged": "copies through the host over {}",
    "nccl": "NCCL beside {}",
    "rccl": "RCCL beside {}",
    "laneway": "Laneway over {}",
    "laneway_persistent": "Laneway, persistent, over {}",
}


@dataclass(frozen=True, order=True)
class Case:
    """What was measured: all contestants of a case did the same."""

    group: str
    benchmark: str
    pattern: str
    where: str
    bytes: int  # -1: it has none

    @property
    def series(self) -> tuple[str, str, str, str]:
        """What cases of several sizes have in common."""
        return self.group, self.benchmark, self.pattern, self.where


@dataclass(frozen=True, order=True)
class Contestant:
    """A library, or something over it."""

    mpi: str
    candidate: str

    @property
    def is_laneway(self) -> bool:
        """Whether it is ours."""
        return self.candidate.startswith("laneway") or self.mpi == ""


@dataclass
class Measured:
    """Seconds of one contestant in one case: an array for each launch; and what a repetition does."""

    launches: dict[int, np.ndarray] = field(default_factory=dict)
    flops: float = 0.0
    messages: float = 0.0
    moved: float = 0.0
    share: float | None = None
    note: str = ""
    seed: int = 0
    first: dict[int, float] = field(default_factory=dict)
    fastest: dict[int, float] = field(default_factory=dict)
    """Seconds of the first repetition, and of the fastest rank, by launch."""
    slowest: dict[int, tuple[int, float]] = field(default_factory=dict)
    """Which rank was the slowest in most samples, and in which share of them, by launch."""

    @property
    def first_call(self) -> float | None:
        """Seconds of the first repetition: the median of the launches."""
        return float(np.median(list(self.first.values()))) if self.first else None

    @property
    def late_rank(self) -> int | None:
        """The rank that is the slowest in nearly all samples of all launches, if one is."""
        ranks = {rank if share >= 0.9 else -1 for rank, share in self.slowest.values()}
        return ranks.pop() if len(ranks) == 1 and -1 not in ranks else None

    @cached_property
    def resampled(self) -> np.ndarray:
        """Logarithms of medians, resampled, one row for each launch."""
        random = np.random.default_rng(self.seed)
        rows = [bootstrap.resampled_medians(some, random, _RESAMPLES) for _, some in sorted(self.launches.items())]
        return np.log(np.array(rows))

    @cached_property
    def median(self) -> float:
        """The geometric mean of the launches' medians, in seconds."""
        return float(np.exp(np.mean([math.log(float(np.median(some))) for some in self.launches.values()])))

    def drawn(self, choice: np.ndarray | None = None) -> np.ndarray:
        """Resampled logarithms of ``median``: launches are drawn, too, because times differ more between than within them."""
        rows = self.resampled
        if choice is None or choice.max(initial=0) >= rows.shape[0]:
            choice = np.random.default_rng(self.seed + 1).integers(rows.shape[0], size=(rows.shape[0], _RESAMPLES))
        return np.take_along_axis(rows, choice, axis=0).mean(axis=0)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Of ``median``, 95%."""
        low, high = bootstrap.interval(self.drawn())
        return math.exp(low), math.exp(high)


@dataclass(frozen=True)
class Ratio:
    """How many times one takes as long as another: its value and 95% interval."""

    value: float
    low: float
    high: float

    @staticmethod
    def of_logs(value: float, drawn: np.ndarray) -> Ratio:
        """Of its logarithm, and of logarithms that it might as well have had."""
        low, high = bootstrap.interval(drawn)
        return Ratio(math.exp(value), math.exp(low), math.exp(high))

    def shows(self, noise: float = 0.0) -> bool:
        """Whether it differs from 1 by more than its interval, and by more than equals differ here."""
        return (self.low > 1 or self.high < 1) and abs(math.log(self.value)) > math.log1p(max(noise, LEAST_DIFFERENCE))

    def __str__(self) -> str:
        # Two digits at least: 0.00 would be no ratio.
        value, low, high = (
            f"{x:.2g}" if x < 0.1 else f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}"
            for x in (self.value, self.low, self.high)
        )
        return f"{value} ({low} to {high})"


def _pooled(pairs: Sequence[tuple[Measured, Measured]]) -> Ratio:
    """Of several cases: the geometric mean of their ratios. The same launches are drawn for all, and for both where they have the same."""
    drawn, values = np.zeros(_RESAMPLES), 0.0
    for first, second in pairs:
        choice = None
        if first.launches.keys() == second.launches.keys():
            count = len(first.launches)
            choice = np.random.default_rng(7).integers(count, size=(count, _RESAMPLES))
        drawn = drawn + first.drawn(choice) - second.drawn(choice)
        values += math.log(first.median / second.median)
    return Ratio.of_logs(values / len(pairs), drawn / len(pairs))


def over_sum(taken: Measured, others: Sequence[Measured], factor: float) -> Ratio:
    """The time of one as a multiple of `factor` times the sum of others' times."""
    value = taken.median / (factor * sum(other.median for other in others))
    return Ratio.of_logs(math.log(value), taken.drawn() - np.log(factor * sum(np.exp(other.drawn()) for other in others)))


@dataclass
class Study:
    """All of one evaluation, or of several files."""

    cases: dict[Case, dict[Contestant, Measured]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    libraries: list[Record] = field(default_factory=list)
    system: list[tuple[str, str]] = field(default_factory=list)
    link: float | None = None
    failures: list[Record] = field(default_factory=list)
    skips: list[Record] = field(default_factory=list)
    nodes_of_ranks: list[int] = field(default_factory=list)
    settings: Record = field(default_factory=dict)
    launches: int = 0
    ranks: int = 0
    processors: int = 0
    preloaded: str = ""
    dates: list[str] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    """Processes that wanted a processor before each launch."""

    def name(self, contestant: Contestant) -> str:
        """In words, with the library's version."""
        if not contestant.mpi:
            return contestant.candidate
        library = self.names.get(contestant.mpi, contestant.mpi)
        return _CANDIDATES.get(contestant.candidate, contestant.candidate + " over {}").format(library)

    def contestants(self, cases: Iterable[Case] | None = None) -> list[Contestant]:
        """All of these cases, the libraries' own first; without the control."""
        chosen = self.cases if cases is None else cases
        found = {contestant for case in chosen for contestant in self.cases[case] if contestant.candidate != CONTROL}
        order = [str(record["library"]) for record in self.libraries]
        position = {name: i for i, name in enumerate(order)}
        kinds = list(_CANDIDATES)
        return sorted(
            found,
            key=lambda c: (kinds.index(c.candidate) if c.candidate in kinds else len(kinds), position.get(c.mpi, len(order)), c),
        )

    def series(self) -> dict[tuple[str, str, str, str], list[Case]]:
        """Cases by what they have in common, smallest first, in the order in which they were measured."""
        found: dict[tuple[str, str, str, str], list[Case]] = {}
        for case in self.cases:
            found.setdefault(case.series, []).append(case)
        return {key: sorted(cases) for key, cases in found.items()}

    def ratio(self, cases: Iterable[Case], first: Contestant, second: Contestant) -> Ratio | None:
        """The first's time as a multiple of the second's, over the cases that both have."""
        pairs = [
            (self.cases[case][first], self.cases[case][second])
            for case in cases
            if first in self.cases[case] and second in self.cases[case]
        ]
        return _pooled(pairs) if pairs else None

    @cached_property
    def _differences(self) -> dict[str, list[float]]:
        """By library: by how much the same thing measured twice differs, as logarithms.

        The control is the library's own under another name. Where there were several launches, those of one are compared
        with those of another one.
        """
        logs: dict[str, list[float]] = {}
        for contestants in self.cases.values():
            for contestant, measured in contestants.items():
                control = contestants.get(Contestant(contestant.mpi, CONTROL))
                if contestant.candidate != OWN or control is None:
                    continue
                for launch, seconds in measured.launches.items():
                    others = [other for other in control.launches if other != launch] or [launch]
                    logs.setdefault(contestant.mpi, []).extend(
                        abs(math.log(float(np.median(seconds)) / float(np.median(control.launches[o]))))
                        for o in others
                        if o in control.launches
                    )
        return logs

    @cached_property
    def noise(self) -> float:
        """How much the same thing measured twice differs here: of 20 cases, all but one differ by less, as a share."""
        return _share_of_most([log for logs in self._differences.values() for log in logs])

    def noise_of(self, *contestants: Contestant) -> float:
        """The same of their libraries, the larger one: ranks that poll on shared processors, as some libraries' do, say
        nothing of how well others are measured."""
        known = [_share_of_most(self._differences[c.mpi]) for c in contestants if c.mpi in self._differences]
        return max(known) if len(known) == len(contestants) else self.noise


def _share_of_most(logs: Sequence[float]) -> float:
    return float(np.expm1(np.percentile(logs, 95))) if logs else 0.0


def _short_name(version: str, library: str) -> str:
    for pattern, text in _NAMES:
        if match := pattern.search(version):
            return text.format(match[1])
    return library


def _case_of(record: Record) -> Case:
    benchmark = str(record.get("benchmark", ""))
    if "record" not in record:  # laneway-bench's
        benchmark = " ".join(str(record[name]) for name in ("benchmark", "op") if record.get(name))
    size = number(record, "bytes")
    pattern = str(record.get("pattern") or "")
    if record.get("level") is not None:
        pattern += f" level {record['level']}"
    group = str(record.get("group") or "laneway-bench")
    return Case(group, benchmark, pattern, str(record.get("where") or record.get("machine") or ""), -1 if size is None else int(size))


def _add(study: Study, record: Record) -> None:
    seconds = record.get("samples_s")
    if not isinstance(seconds, list) or not seconds or not record.get("candidate"):
        return
    array = np.array([float(s) for s in seconds if float(s) > 0])
    if array.size == 0:
        return
    case, contestant = _case_of(record), Contestant(str(record.get("library") or ""), str(record["candidate"]))
    measured = study.cases.setdefault(case, {}).setdefault(contestant, Measured())
    measured.seed = zlib.crc32(repr((case, contestant)).encode())
    launch = int(number(record, "launch") or len(measured.launches) + 1)
    measured.launches[launch] = array
    measured.flops = number(record, "flops") or 0.0
    measured.messages = number(record, "messages") or 0.0
    measured.moved = number(record, "moved_bytes") or 0.0
    measured.share = number(record, "communication_share")
    measured.note = str(record.get("note") or "")
    for name, place in (("first_s", measured.first), ("fastest_rank_s", measured.fastest)):
        if (value := number(record, name)) is not None:
            place[launch] = value
    if (rank := number(record, "slowest_rank")) is not None:
        measured.slowest[launch] = int(rank), number(record, "slowest_share") or 0.0


def _set_names(study: Study, records: Sequence[Record]) -> None:
    versions: dict[str, str] = {}
    for record in records:
        run = record.get("run")
        if record.get("library") and isinstance(run, Mapping) and run.get("mpi"):
            versions.setdefault(str(record["library"]), str(run["mpi"]))
    names = {library: _short_name(version, library.partition("@")[0]) for library, version in versions.items()}
    for library, name in names.items():
        same = [other for other, its in names.items() if its == name]
        own, _, label = library.partition("@")
        parts = [own] if any(other.partition("@")[2] == label and other != library for other in same) else []
        parts += [label] if label else []
        study.names[library] = f"{name} ({', '.join(parts)})" if parts else name


def labelled(records: Sequence[Record], label: str) -> list[Record]:
    """Records of one of several evaluations: their libraries carry its name, so that both are kept apart."""
    return [{**record, "library": f"{record['library']}@{label}"} if record.get("library") else record for record in records]


def read(records: Sequence[Record]) -> Study:
    """The study of an evaluation's records, or of laneway-bench's."""
    study = Study()
    for record in records:
        kind = record.get("record")
        if kind in (None, "result"):
            _add(study, record)
        elif kind == "settings":
            study.settings = record
        elif kind == "system":
            rows = record.get("rows")
            study.system = [(str(name), str(value)) for name, value in rows] if isinstance(rows, list) else []
            study.link = number(record, "link_bytes_per_second")
            study.preloaded = str(record.get("preloaded") or "")
        elif kind == "library":
            study.libraries.append(record)
        elif kind in ("failed", "failed with laneway", "wrong"):
            study.failures.append(record)
        elif kind == "skip":
            study.skips.append(record)
        elif kind == "launch":
            study.ranks = max(study.ranks, int(number(record, "ranks") or 0))
            run = record.get("run")
            study.processors = int(run.get("processors") or 0) if isinstance(run, Mapping) else 0
            if isinstance(run, Mapping) and run.get("date"):
                study.dates.append(str(run["date"]))
            if isinstance(run, Mapping) and isinstance(run.get("others"), (int, float)):
                study.others.append(float(run["others"]))
            study.launches = max(study.launches, int(number(record, "launch") or 0))
            if isinstance(record.get("node_of_rank"), list):
                study.nodes_of_ranks = [int(node) for node in record["node_of_rank"]]  # type: ignore[attr-defined]
    _set_names(study, records)
    return study
