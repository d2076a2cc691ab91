"""``laneway validate``: how well the costs that choose a strategy predict what is measured."""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import mode
from typing import Union

import numpy as np
from rich.console import Console
from rich.table import Table

from laneway_tools.measure import bootstrap, results
from laneway_tools.measure.results import Record, number
from laneway_tools.places import launch, talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_program
from laneway_tools.places.places import Place, Simulated

_DIFFERENT = 1.1
_NOT_SLOWER = 1.03
_MOST_INIT = 1.3

_SPARSE = "rsg:density={density},seed={seed}"
_DENSITIES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
_GRAPHS = (
    "moore:d=2,r=1,dims=4x4",
    "moore:d=2,r=2,dims=4x4,periodic=0",
    "stencil:points=9,dims=4x4,periodic=0",
    "stencil:points=7,dims=4x2x2,periodic=1",
)
_MATRICES = (
    "matrix:9pt:nx=256,ny=256",
    "matrix:27pt:nx=24,ny=24,nz=24",
    "matrix:delaunay:n=16384,seed={seed},curve=0",
    "matrix:debruijn:k=12",
)
# With MPI's own operation; itself once more as a control.
_COMPARED = ("auto", "mpi-again")
#: What `auto` chose from when the tables of papers were made.
CANDIDATES = ("direct", "three_step", "two_step", "split", "load_aware", "grouped", "common_neighborhood")


@dataclass(frozen=True)
class Run:
    """One call of laneway-bench: an operation on some patterns with some sizes."""

    operation: str
    patterns: Sequence[str]
    sizes: Sequence[int]
    iterations: int


def runs(seed: int) -> list[Run]:
    """The cases of one seed: random graphs differ from seed to seed, stencils are always the same."""
    sparse = [_SPARSE.format(density=density, seed=seed) for density in _DENSITIES]
    matrices = [matrix.format(seed=seed) for matrix in _MATRICES]
    return [
        Run("allgather", [*sparse, *_GRAPHS], (8, 256, 4096, 32768), 11),
        Run("alltoallv", [*sparse[::2], _GRAPHS[2]], (8, 1024, 16384), 11),
        Run("alltoallv", matrices, (8, 64), 11),
        Run("allgather", [sparse[1], sparse[4]], (1048576,), 3),
    ]


@dataclass(frozen=True)
class Case:
    """Seconds of every strategy in one exchange, as measured and as predicted, and what was chosen."""

    name: str
    measured: dict[str, float]
    predicted: dict[str, float]
    chosen: str
    init: dict[str, float]
    #: By candidate, the 95% bootstrap interval of the median of its ratios to MPI's own operation in the same round.
    ratios: dict[str, tuple[float, float]] = field(default_factory=dict)
    launches: dict[str, list[float]] = field(default_factory=dict)  #: what ``measured`` are the medians of

    @property
    def strategies(self) -> list[str]:
        """Those that could have been chosen."""
        return [name for name in self.predicted if name in self.measured]

    @property
    def best(self) -> str:
        """The fastest of them."""
        return min(self.strategies, key=self.measured.__getitem__)

    @property
    def regret(self) -> float:
        """Time of the chosen strategy, by that of the best."""
        return self.measured[self.chosen] / self.measured[self.best]

    @property
    def other_regret(self) -> float:
        """The same by that of what was fastest in the other launches: the least of several noisy times is too good."""
        count = len(self.launches.get(self.chosen, []))
        if count < 2:
            return self.regret
        own = {name: times for name in self.strategies if len(times := self.launches.get(name, [])) == count}
        regrets = []
        for i in range(count):
            others = {name: float(np.median(np.delete(times, i))) for name, times in own.items()}
            best = min(others, key=others.__getitem__)
            regrets.append(own[self.chosen][i] / own[best][i])
        return float(np.median(regrets))

    @property
    def long_regret(self) -> float:
        """The same for what would be chosen if setup took no time."""
        return self.measured[min(self.strategies, key=self.predicted.__getitem__)] / self.measured[self.best]

    @property
    def against_mpi(self) -> float:
        """Time of `auto`, by that of MPI's own operation."""
        return self.measured["auto"] / self.measured["mpi"]

    def not_slower(self, candidate: str) -> bool:
        """Whether the interval of its ratios to MPI's own operation ends below 1.03; true if they are not known."""
        return candidate not in self.ratios or self.ratios[candidate][1] < _NOT_SLOWER

    def slower(self, candidate: str) -> bool:
        """Whether that interval begins above 1.03."""
        return candidate in self.ratios and self.ratios[candidate][0] > _NOT_SLOWER

    @property
    def payback(self) -> float:
        """Exchanges in which `auto` makes up for its longer setup, against `direct`."""
        longer = self.init["auto"] - self.init["direct"]
        if self.chosen == "direct" or longer <= 0:
            return 0.0
        gain = self.measured["direct"] - self.measured[self.chosen]
        return longer / gain if gain > 0 else math.inf

    @property
    def init_ratio(self) -> float:
        """Setup of `auto`, by that of the strategy that it chooses."""
        return self.init["auto"] / self.init[self.chosen]

    def pairs(self) -> tuple[int, int, int]:
        """Pairs of strategies whose measured times differ: in the predicted order, in the other, predicted equal."""
        right = wrong = equal = 0
        for a, b in combinations(self.strategies, 2):
            slow, fast = sorted((a, b), key=self.measured.__getitem__, reverse=True)
            if self.measured[slow] < _DIFFERENT * self.measured[fast]:
                continue
            difference = self.predicted[slow] - self.predicted[fast]
            right += difference > 0
            wrong += difference < 0
            equal += difference == 0
        return right, wrong, equal


def cases_of(records: Iterable[Record]) -> list[Case]:
    """The cases in which `auto` had something to choose, or chose without. Several launches count by their medians.

    A UserError if there is none, or if a result was wrong.
    """
    cases = []

    def key(record: Record) -> tuple[str, ...]:
        return tuple(str(record.get(part)) for part in ("benchmark", "op", "pattern", "bytes", "level"))

    by_case: dict[tuple[str, ...], dict[str, list[Record]]] = {}
    for record in records:
        by_case.setdefault(key(record), {}).setdefault(str(record["candidate"]), []).append(record)
    for (_, op, pattern, size, level), launches in by_case.items():
        wrong = [name for name, own in launches.items() if not all(record.get("verified") for record in own)]
        if wrong:
            raise UserError(f"{op} {pattern} {size}: wrong result of {', '.join(wrong)}", 1)
        if "auto" not in launches:
            continue
        automatic = launches["auto"]
        predicted = automatic[0].get("predicted_s")
        name = f"{op} {pattern}, {size} B" if level == "None" else f"{pattern}, level {level}"
        cases.append(
            Case(
                name,
                _medians(launches, "median_s"),
                dict(predicted) if isinstance(predicted, dict) else {"direct": 0.0},
                mode(str(record.get("chosen") or "direct") for record in automatic),
                _medians(launches, "init_s"),
                {name: interval for name in _COMPARED if (interval := _interval(launches, name))},
                _known(launches, "median_s"),
            )
        )
    if not cases:
        raise UserError("no exchange with the strategy auto", 1)
    return cases


def _known(launches: dict[str, list[Record]], key: str) -> dict[str, list[float]]:
    """By candidate, those of its launches that have it."""
    return {name: [value for record in own if (value := number(record, key)) is not None] for name, own in launches.items()}


def _medians(launches: dict[str, list[Record]], key: str) -> dict[str, float]:
    """By candidate, of those that have it."""
    return {name: float(np.median(values)) for name, values in _known(launches, key).items() if values}


def _interval(launches: dict[str, list[Record]], candidate: str) -> Union[tuple[float, float], None]:
    """Of the median of a candidate's times by those of MPI's own operation, pairs of the same round of the same launch."""
    pairs = zip(launches.get(candidate, []), launches["mpi"])
    ratios = [a / b for own, other in pairs for a, b in zip(_samples(own), _samples(other))]
    return bootstrap.interval_of_median(ratios) if len(ratios) > 1 else None


def _samples(record: Record) -> list[float]:
    samples = record.get("samples_s")
    return [float(value) for value in samples] if isinstance(samples, list) else []


@dataclass(frozen=True)
class Score:
    """What the cases come to."""

    cases: int
    regret_median: float
    regret_p95: float
    regret_max: float
    other_regret_p95: float
    long_regret_median: float
    long_regret_p95: float
    tau_b: float
    slower_than_mpi: int
    not_shown: dict[str, int]  #: by candidate, cases in which it is not shown to be no slower than MPI's own
    shown_slower: dict[str, int]  #: and those in which it is shown to be slower
    late_payback: int
    init_ratio: float  #: of the cases in which it does not choose `direct`, the median
    costly_init: int  #: and those in which it is more than 1.3

    @staticmethod
    def of(cases: Sequence[Case]) -> Score:
        """Kendall's tau-b over all pairs of strategies in the same exchange that differ by more than 10%."""
        regrets = [case.regret for case in cases]
        long_regrets = [case.long_regret for case in cases]
        right, wrong, equal = (sum(column) for column in zip(*(case.pairs() for case in cases), strict=True))
        init_ratios = [case.init_ratio for case in cases if case.chosen != "direct"]
        ranked = math.sqrt((right + wrong) * (right + wrong + equal))
        return Score(
            len(cases),
            float(np.median(regrets)),
            float(np.quantile(regrets, 0.95)),
            max(regrets),
            float(np.quantile([case.other_regret for case in cases], 0.95)),
            float(np.median(long_regrets)),
            float(np.quantile(long_regrets, 0.95)),
            (right - wrong) / ranked if ranked else 1.0,
            sum(case.against_mpi > _NOT_SLOWER for case in cases),
            {name: sum(not case.not_slower(name) for case in cases) for name in _COMPARED},
            {name: sum(case.slower(name) for case in cases) for name in _COMPARED},
            sum(case.payback > 20 for case in cases),
            float(np.median(init_ratios or [1.0])),
            sum(ratio > _MOST_INIT for ratio in init_ratios),
        )


def _table(cases: Sequence[Case], score: Score) -> Table:
    table = Table(title=f"{score.cases} exchanges")
    table.add_column("exchange")
    for column in ("best", "chosen"):
        table.add_column(column)
    for column in ("best ms", "regret", "of MPI's time", "pairs right, wrong, equal"):
        table.add_column(column, justify="right")
    for case in cases:
        table.add_row(
            case.name,
            case.best,
            case.chosen,
            f"{case.measured[case.best] * 1e3:.3f}",
            f"{case.regret:.3f}",
            f"{case.against_mpi:.2f}",
            " ".join(str(count) for count in case.pairs()),
            style="bold" if case.regret > 1.15 else "",
        )
    return table


def _rows(cases: Sequence[Case]) -> list[dict[str, object]]:
    return [
        {
            "exchange": case.name,
            "strategy": strategy,
            "measured_s": results.rounded(case.measured[strategy]),
            "predicted_s": results.rounded(case.predicted[strategy]),
            "chosen": int(strategy == case.chosen),
            "regret": f"{case.regret:.4f}",
            "mpi_s": results.rounded(case.measured["mpi"]),
            "auto_s": results.rounded(case.measured["auto"]),
            "direct_init_s": results.rounded(case.init["direct"]),
            "auto_init_s": results.rounded(case.init["auto"]),
            "chosen_init_s": results.rounded(case.init[case.chosen]),
            "payback_exchanges": f"{case.payback:.1f}",
            **{
                f"{name}_ratio_{end}": f"{value:.3f}"
                for name in _COMPARED
                for end, value in zip(("low", "high"), case.ratios.get(name, ()))
            },
        }
        for case in cases
        for strategy in case.strategies
    ]


def cases_of_table(path: Path) -> list[Case]:
    """What ``report`` has written, as far as the picture shows it: times of all strategies, and what was chosen."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in results.read_csv(path, ("exchange", "strategy", "measured_s", "predicted_s", "chosen")):
        groups.setdefault(row["exchange"], []).append(row)
    return [
        Case(
            name,
            {row["strategy"]: float(row["measured_s"]) for row in rows},
            {row["strategy"]: float(row["predicted_s"]) for row in rows},
            next((row["strategy"] for row in rows if row["chosen"] == "1"), ""),
            {},
        )
        for name, rows in groups.items()
    ]


@dataclass(frozen=True)
class Settings:
    """Where and with what the exchanges run; those of seeds up to 5 served to tune the models."""

    place: Place
    ranks: Union[int, None]
    mpi: str
    variables: dict[str, str]
    parameters: str
    seed: int
    launches: int = 1


def _candidates(mpi: str) -> list[str]:
    """What `auto` chooses from, as the library says."""
    said = subprocess.run([find_program("laneway-bench", mpi), "strategies", "--json"], check=True, capture_output=True, text=True)
    return [row["name"] for row in json.loads(said.stdout) if row["automatic"]]


def measure(settings: Settings, keep: Path | None = None) -> list[Record]:
    """Run the exchanges of a seed, all of them in each launch; `keep` is a file for their records."""
    variables = {**settings.variables, "LANEWAY_PARAMETERS": settings.parameters} if settings.parameters else settings.variables
    candidates = _candidates(settings.mpi)
    with tempfile.TemporaryDirectory() as directory:
        path = keep or Path(directory) / "records.jsonl"
        for run in runs(settings.seed) * settings.launches:
            command = ["laneway-bench", "neighbor", "--op", run.operation, "--pattern", ";".join(run.patterns)]
            command += ["--bytes", ",".join(str(size) for size in run.sizes), "--strategy", ",".join((*candidates, "auto"))]
            iterations, baselines = (1, "mpi") if isinstance(settings.place, Simulated) else (run.iterations, "mpi,mpi-again")
            command += ["--iterations", str(iterations), "--baseline", baselines, "--json", str(path)]
            status = launch.run(launch.Job(command, settings.place, settings.ranks, settings.mpi, variables))
            if status != 0:
                raise UserError(f"laneway-bench ended with status {status}", 1)
        return results.read(path)


def report(cases: Sequence[Case], output: Path, console: Console | None = None) -> Score:
    """Print what the cases come to, and write their numbers to `output`, a CSV file."""
    score = Score.of(cases)
    console = console or talk.console()
    console.print(_table(cases, score))
    auto, again = _COMPARED
    console.print(
        f"regret: median {score.regret_median:.3f}, 95th percentile {score.regret_p95:.3f}, largest "
        f"{score.regret_max:.3f} (95th percentile against what was fastest in the other launches "
        f"{score.other_regret_p95:.3f}; if setup took no time: median {score.long_regret_median:.3f}, 95th percentile "
        f"{score.long_regret_p95:.3f}); Kendall's tau-b of predictions {score.tau_b:.3f}; slower than MPI's own "
        f"(medians, by more than 3%): {score.slower_than_mpi} of {score.cases}; 95% interval of paired ratios to it not below 1.03: "
        f"{score.not_shown[auto]} ({score.not_shown[again]} of the same operation once more), above it: "
        f"{score.shown_slower[auto]} ({score.shown_slower[again]}); setup of auto {score.init_ratio:.2f} of that of what "
        f"it chooses (above 1.3 in {score.costly_init}), not earned within 20 exchanges in {score.late_payback}"
    )
    results.write_csv(output, _rows(cases))
    return score
