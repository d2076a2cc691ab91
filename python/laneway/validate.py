"""``laneway validate``: how well the costs that choose a strategy predict what is measured."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mode
from typing import Union

import numpy as np
from rich.console import Console
from rich.table import Table

from laneway import launch, results
from laneway.errors import UserError
from laneway.places import Place, Simulated
from laneway.results import Record, number

_DIFFERENT = 1.1

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
_STRATEGIES = "direct,three_step,two_step,split,load_aware,grouped,auto"


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
    def long_regret(self) -> float:
        """The same for what would be chosen if setup took no time."""
        return self.measured[min(self.strategies, key=self.predicted.__getitem__)] / self.measured[self.best]

    @property
    def against_mpi(self) -> float:
        """Time of `auto`, by that of MPI's own operation."""
        return self.measured["auto"] / self.measured["mpi"]

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
    """The cases in which `auto` had something to choose, or chose without. Several launches count by their medians."""
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
            )
        )
    return cases


def _medians(launches: dict[str, list[Record]], key: str) -> dict[str, float]:
    """By candidate, of those that have it."""
    known = {name: [value for record in own if (value := number(record, key)) is not None] for name, own in launches.items()}
    return {name: float(np.median(values)) for name, values in known.items() if values}


@dataclass(frozen=True)
class Score:
    """What the cases come to."""

    cases: int
    regret_median: float
    regret_p95: float
    regret_max: float
    long_regret_median: float
    long_regret_p95: float
    tau_b: float
    slower_than_mpi: int
    late_payback: int
    init_ratio: float

    @staticmethod
    def of(cases: Sequence[Case]) -> Score:
        """Kendall's tau-b over all pairs of strategies in the same exchange that differ by more than 10%."""
        regrets = [case.regret for case in cases]
        long_regrets = [case.long_regret for case in cases]
        right, wrong, equal = (sum(column) for column in zip(*(case.pairs() for case in cases), strict=True))
        ranked = math.sqrt((right + wrong) * (right + wrong + equal))
        return Score(
            len(cases),
            float(np.median(regrets)),
            float(np.quantile(regrets, 0.95)),
            max(regrets),
            float(np.median(long_regrets)),
            float(np.quantile(long_regrets, 0.95)),
            (right - wrong) / ranked if ranked else 1.0,
            sum(case.against_mpi > 1.03 for case in cases),
            sum(case.payback > 20 for case in cases),
            float(np.median([case.init_ratio for case in cases if case.chosen != "direct"] or [1.0])),
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
        }
        for case in cases
        for strategy in case.strategies
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


def measure(settings: Settings, keep: Path | None = None) -> list[Record]:
    """Run the exchanges of a seed, all of them in each launch; `keep` is a file for their records."""
    variables = {**settings.variables, "LANEWAY_PARAMETERS": settings.parameters} if settings.parameters else settings.variables
    with tempfile.TemporaryDirectory() as directory:
        path = keep or Path(directory) / "records.jsonl"
        for run in runs(settings.seed) * settings.launches:
            command = ["laneway-bench", "neighbor", "--op", run.operation, "--pattern", ";".join(run.patterns)]
            command += ["--bytes", ",".join(str(size) for size in run.sizes), "--strategy", _STRATEGIES]
            iterations = 1 if isinstance(settings.place, Simulated) else run.iterations
            command += ["--iterations", str(iterations), "--json", str(path)]
            status = launch.run(launch.Job(command, settings.place, settings.ranks, settings.mpi, variables))
            if status != 0:
                raise UserError(f"laneway-bench ended with status {status}", 1)
        return results.read(path)


def report(records: Iterable[Record], output: Path, console: Console | None = None) -> Score:
    """Print, draw and write what the records say; `output` is the picture, the numbers go beside it."""
    from laneway import figures

    cases = cases_of(records)
    if not cases:
        raise UserError("no exchange with the strategy auto", 1)
    score = Score.of(cases)
    console = console or Console()
    console.print(_table(cases, score))
    console.print(
        f"regret: median {score.regret_median:.3f}, 95th percentile {score.regret_p95:.3f}, largest "
        f"{score.regret_max:.3f} (if setup took no time: median {score.long_regret_median:.3f}, 95th percentile "
        f"{score.long_regret_p95:.3f}); Kendall's tau-b of predictions {score.tau_b:.3f}; slower than MPI's own "
        f"(by more than 3%): {score.slower_than_mpi} of {score.cases}; setup of auto {score.init_ratio:.2f} of that of what "
        f"it chooses, not earned within 20 exchanges in {score.late_payback}"
    )
    results.write_csv(output.with_suffix(".csv"), _rows(cases))
    figures.draw_predictions(cases, output)
    console.print(f"{output}, {output.with_suffix('.csv')}")
    return score
