"""``laneway reproduce hypre``: algebraic multigrid on up to 2,048 simulated ranks.

A. Collom, R. Li, A. Bienz: Optimizing Irregular Communication with Neighborhood Collectives and Locality-Aware Parallelism,
Figures 8 to 13.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway import launch, points, results
from laneway.errors import UserError
from laneway.paths import find_program
from laneway.places import Local, Simulated
from laneway.points import Plans, Point
from laneway.results import Record, number, rounded

MACHINE = "lassen"
RANKS_OF_NODE = 16
RANKS = (64, 128, 256, 512, 1024, 2048)
STRATEGIES = ("direct", "three_step_nodedup", "three_step", "auto")
# What the paper calls them: partially and fully optimized.
NAMES = {"direct": "standard", "three_step_nodedup": "partial", "three_step": "full", "auto": "auto"}
_STRONG_GRID = (1024, 512)
_QUICK_RANKS = 256
_ALL_SIMULATED_RANKS = 512  # on more only standard and auto are
_EVERY_STRATEGY_RANKS = (256, 2048)
# For `direct`, each edge a message, stands standard, the loop of these.
_EVERY_STRATEGY = ("auto", "two_step", "grouped", "split", "load_aware", "common_neighborhood", "three_step", "three_step_nodedup")
_SIMULATED_RANKS = 2048
# A solver uses each level's exchange some hundred times and more.
_VARIABLES = (("LANEWAY_EXCHANGES", "1000"),)
# Speedups over standard on 2,048 ranks, as the text states them.
_PUBLISHED = {("strong", "three_step_nodedup"): 1.32, ("strong", "three_step"): 1.39, ("weak", "three_step_nodedup"): 1.96,
              ("weak", "three_step"): 2.17}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """Rotated anisotropic diffusion on a grid, on so many ranks."""

    scaling: str
    nx: int
    ny: int
    ranks: int

    @property
    def nodes(self) -> int:
        return self.ranks // RANKS_OF_NODE


def problems(ranks: Iterable[int]) -> list[Problem]:
    """The same grid on all numbers of ranks, and grids of as many points a rank as that has on 64."""
    counts = sorted(ranks)
    strong = [Problem("strong", *_STRONG_GRID, count) for count in counts]
    weak = []
    for count in counts:
        nx, ny = _STRONG_GRID
        for doubling in range((count // RANKS[0]).bit_length() - 1):
            nx, ny = (nx, 2 * ny) if doubling % 2 == 0 else (2 * nx, ny)
        weak.append(Problem("weak", nx, ny, count))
    return strong + weak


def _halos(problem: Problem, ranks: Sequence[int]) -> Path:
    """The folder with what each level exchanges: a folder for each number of ranks, made by hypre on one rank."""
    program = Path(find_program("laneway-bench", "openmpi"))
    grid = ["amg", "--nx", str(problem.nx), "--ny", str(problem.ny)]
    folder = points.folder() / f"halos-{points.digest(program.read_bytes(), repr(grid).encode())}"
    missing = [count for count in sorted(set(ranks)) if not (folder / str(count)).is_dir()]
    if not missing:
        return folder
    folder.mkdir(exist_ok=True)
    making = folder / f"making-{os.getpid()}"
    arguments = [*grid, "--for-ranks", ",".join(map(str, missing)), "--write-halos", str(making)]
    try:
        with (folder / "log").open("wb") as log:
            if launch.run(launch.Job([str(program), *arguments], Local(), ranks=1), log) != 0:
                raise UserError(f"laneway-bench {' '.join(arguments)} failed; {log.name} says why", 1)
        for count in missing:
            (making / str(count)).replace(folder / str(count))
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return folder


def _level_of(path: Path) -> int:
    return int(path.stem.rsplit("-", 1)[1])


def levels(problem: Problem, ranks: Sequence[int]) -> list[Path]:
    """The files of a problem's levels, the finest first."""
    return sorted((_halos(problem, ranks) / str(problem.ranks)).glob("level-*.halo"), key=_level_of)


def _plans(problem: Problem, files: Sequence[Path]) -> Plans:
    """What the plans of all ranks say, without running anything."""
    patterns = " ".join(f"halo:{file}" for file in files)
    arguments = ("--op", "alltoallv", "--bytes", "8", "--ranks", str(problem.ranks), "--pattern", patterns)
    arguments += ("--machine", f"node:{problem.nodes} rank:{RANKS_OF_NODE}", "--strategy", ",".join(STRATEGIES))
    return Plans(MACHINE, arguments, tuple(files))


def _max_rate(problem: Problem, files: Sequence[Path]) -> Plans:
    """What ``auto`` is if it chooses by the max-rate model."""
    plans = _plans(problem, files)
    others = plans.arguments[: plans.arguments.index("--strategy")]
    return Plans(MACHINE, (*others, "--strategy", "auto", "--model", "max-rate"), plans.files)


def _point(problem: Problem, file: Path, strategies: Sequence[str]) -> Point:
    arguments = ("neighbor", "--op", "alltoallv", "--bytes", "8", "--pattern", f"halo:{file}")
    arguments += ("--strategy", ",".join(strategies), *points.once(MACHINE))
    return Point(Simulated(MACHINE, problem.nodes, RANKS_OF_NODE), arguments, variables=_VARIABLES, files=(file,))


@dataclass(frozen=True)
class LevelOf:
    """One level of a problem: what the plans say, and simulated times where there are any."""

    problem: Problem
    level: int
    planned: dict[str, Record]
    simulated: dict[str, Record]
    by_max_rate: Record | None = None  #: of ``auto`` that chooses by this model

    def predicted(self, strategy: str) -> float:
        return number(self.planned[strategy], "predicted_s") or 0.0

    def seconds(self, strategy: str) -> float | None:
        """Simulated; standard is a loop of messages without this library."""
        record = self.simulated.get("mpi" if strategy == "direct" else strategy)
        return number(record, "median_s") if record else None

    def max_rate(self, strategy: str) -> float:
        """By the max-rate model, in which a rank's messages take their latencies one after another; ``auto`` goes by it, too."""
        record = self.by_max_rate if strategy == "auto" and self.by_max_rate else self.planned[strategy]
        return number(record, "max_rate_s") or 0.0

    def least(self, kind: str) -> float | None:
        """What no plan can beat, by a model."""
        keys = {"predicted": "least_s", "max-rate": "least_max_rate_s"}
        return number(next(iter(self.planned.values())), keys[kind]) if kind in keys else None

    def setup(self, strategy: str) -> tuple[float, float] | None:
        """Virtual seconds of creating the topology, and of init."""
        record = self.simulated.get(strategy)
        if record is None:
            return None
        init = number(record, "init_s") or 0.0
        return (number(record, "setup_s") or 0.0) - init, init

    def count(self, strategy: str, key: str) -> int:
        return int(number(self.planned[strategy], key) or 0)

    def rows(self) -> list[dict[str, object]]:
        keys = ("node_messages_max", "net_messages_max", "net_messages_total", "net_bytes_max", "net_bytes_total")
        table = []
        for strategy, record in self.planned.items():
            seconds = self.seconds(strategy)
            setup = self.setup(strategy) or ("", "")
            table.append(
                {
                    "scaling": self.problem.scaling,
                    "ranks": self.problem.ranks,
                    "level": self.level,
                    "strategy": strategy,
                    "chosen": record["chosen"],
                    **{key: record[key] for key in keys},
                    "setup_letters_max": record["setup_letters_max"],
                    "staging_bytes_max": record["staging_bytes_max"],
                    "predicted_s": rounded(self.predicted(strategy)),
                    "max_rate_s": rounded(self.max_rate(strategy)),
                    "least_s": rounded(self.least("predicted") or 0.0),
                    "least_max_rate_s": rounded(self.least("max-rate") or 0.0),
                    "simulated_s": "" if seconds is None else rounded(seconds),
                    **{
                        key: rounded(part) if isinstance(part, float) else part
                        for key, part in zip(("creation_s", "init_s"), setup, strict=True)
                    },
                }
            )
        return table


def _seconds(record: Record) -> float:
    seconds = number(record, "median_s")
    if seconds is None:
        raise UserError(f"laneway-bench has no time of {record['candidate']} for {record['pattern']}", 1)
    return seconds


def _by_candidate(records: Iterable[Record]) -> dict[str, Record]:
    return {str(record["candidate"]): record for record in records}


def find(wanted: Sequence[Problem], console: Console) -> list[LevelOf]:
    """All levels of the problems, planned on all ranks, and simulated on up to a number of them."""
    own: dict[Problem, list[Path]] = {}
    for problem in wanted:
        same = [other.ranks for other in wanted if (other.nx, other.ny) == (problem.nx, problem.ny)]
        own[problem] = levels(problem, same)
        console.print(f"{problem.scaling}, {problem.ranks} ranks: {len(own[problem])} levels of {problem.nx} x {problem.ny} points")
    planned = points.run_all([_plans(problem, files) for problem, files in own.items()])
    by_max_rate = points.run_all([_max_rate(problem, files) for problem, files in own.items()])
    files = [
        (problem, file, records[i * len(STRATEGIES) : (i + 1) * len(STRATEGIES)], automatic[i])
        for (problem, paths), records, automatic in zip(own.items(), planned, by_max_rate, strict=True)
        for i, file in enumerate(paths)
    ]
    simulated = [(problem, file) for problem, file, *_ in files if problem.ranks <= _SIMULATED_RANKS]
    some = [_point(*one, STRATEGIES if one[0].ranks <= _ALL_SIMULATED_RANKS else ("auto",)) for one in simulated]
    times = dict(zip(simulated, points.run_all(some), strict=True))
    return [
        LevelOf(problem, _level_of(file), _by_candidate(records), _by_candidate(times.get((problem, file), [])), automatic)
        for problem, file, records, automatic in files
    ]


#: What the seconds of a level may come from.
_SECONDS: dict[str, Callable[[LevelOf, str], float | None]] = {
    "predicted": LevelOf.predicted,
    "max-rate": LevelOf.max_rate,
    "simulated": LevelOf.seconds,
}


def _total(some: Sequence[LevelOf], strategy: str, kind: str) -> float | None:
    seconds = [_SECONDS[kind](level, strategy) for level in some]
    known = [value for value in seconds if value is not None]
    return sum(known) if known and len(known) == len(seconds) else None


def _ratio(some: Sequence[LevelOf], strategy: str, kind: str) -> str:
    standard, own = (_total(some, name, kind) for name in ("direct", strategy))
    return f"{standard / own:.2f}" if standard and own else "-"


def _least(some: Sequence[LevelOf], strategy: str, kind: str) -> str:
    """The part of a strategy's time that no plan can do without."""
    least = [level.least(kind) for level in some]
    own = _total(some, strategy, kind)
    return f"{sum(value or 0.0 for value in least) / own:.2f}" if own and None not in least else "-"


def _setup_total(some: Sequence[LevelOf], strategy: str) -> tuple[float, float] | None:
    """Virtual seconds of creation and of init, once for each level."""
    known = [setup for level in some if (setup := level.setup(strategy)) is not None]
    return (sum(s[0] for s in known), sum(s[1] for s in known)) if known and len(known) == len(some) else None


def payback(extra: float, some: Sequence[LevelOf], strategy: str, kind: str) -> float | None:
    """Exchanges of all levels after which ``extra`` seconds of setup are earned, against standard; None for never."""
    standard, own = (_total(some, name, kind) for name in ("direct", strategy))
    return extra / (standard - own) if standard and own and own < standard else None


def _print_setups(console: Console, by_problem: dict[Problem, list[LevelOf]]) -> None:
    """Figures 6 and 7. Beyond what is simulated, init is that of the most ranks that are."""
    table = Table(title="creation of topologies and init, all levels, virtual ms; exchanges that earn what init takes longer than that of standard")
    for column in ("scaling", "ranks", "creation", "init: " + " / ".join(NAMES.values())):
        table.add_column(column, justify="right")
    for kind in _SECONDS:
        table.add_column(f"payback, {kind}", justify="right")
    last: dict[str, list[LevelOf]] = {}
    for problem, own in by_problem.items():
        if _setup_total(own, "direct"):
            last[problem.scaling] = own
        setups = {s: _setup_total(last.get(problem.scaling, []), s) for s in STRATEGIES}
        if not all(setups.values()):
            continue
        init = {s: setup[1] for s, setup in setups.items() if setup}
        creation = setups["direct"][0] if setups["direct"] else 0.0
        measured = last[problem.scaling] is own
        row = [problem.scaling, str(problem.ranks), f"{1e3 * creation:.2f}" if measured else ""]
        row.append(" / ".join(f"{1e3 * init[s]:.2f}" for s in STRATEGIES) if measured else "")
        for kind in _SECONDS:
            found = [payback(init[s] - init["direct"], own, s, kind) for s in STRATEGIES[1:]]
            known = _total(own, "direct", kind) is not None
            row.append(" / ".join("never" if x is None else f"{x:.0f}" for x in found) if known else "-")
        table.add_row(*row)
    console.print(table)


def _setup_lines(by_problem: dict[Problem, list[LevelOf]]) -> list[tuple[str, str, float, float]]:
    """Panels, lines, x and ms: creation by ranks, and what so many exchanges take on the most ranks, init included."""
    lines = []
    last: dict[str, list[LevelOf]] = {}
    for problem, own in by_problem.items():
        setups = {s: _setup_total(own, s) for s in STRATEGIES}
        if all(setups.values()):
            last[problem.scaling] = own
            for s, setup in setups.items():
                if setup:
                    lines.append((f"{problem.scaling}: init of all levels", NAMES[s], float(problem.ranks), 1e3 * setup[1]))
            if setups["direct"]:
                lines.append((f"{problem.scaling}: init of all levels", "creation", float(problem.ranks), 1e3 * setups["direct"][0]))
    largest = max(problem.ranks for problem in by_problem)
    for problem, own in by_problem.items():
        if problem.ranks != largest or problem.scaling not in last:
            continue
        for s in STRATEGIES:
            setup, seconds = _setup_total(last[problem.scaling], s), _total(own, s, "max-rate")
            for exchanges in (1, 2, 4, 8, 16, 32, 64, 128):
                if setup and seconds:
                    panel = f"{problem.scaling}, {largest} ranks: init and exchanges"
                    lines.append((panel, NAMES[s], float(exchanges), 1e3 * (setup[1] + exchanges * seconds)))
    return lines


def _print_levels(console: Console, some: Sequence[LevelOf]) -> None:
    """Figures 8 to 11: the most of any rank."""
    problem = some[0].problem
    counted = {"node_messages_max": "messages inside nodes", "net_messages_max": "between nodes", "net_bytes_max": "bytes"}
    names = " / ".join(NAMES[strategy] for strategy in STRATEGIES)
    table = Table(title=f"{problem.scaling}, {problem.ranks} ranks: {names}")
    for column in ("level", *counted.values(), "predicted µs"):
        table.add_column(column, justify="right")
    for level in some:
        row = [" / ".join(str(level.count(strategy, key)) for strategy in STRATEGIES[:3]) for key in counted]
        times = " / ".join(f"{1e6 * level.predicted(strategy):.1f}" for strategy in STRATEGIES)
        table.add_row(str(level.level), *row, times)
    console.print(table)


def hypre(output: Path, console: Console, *, quick: bool = False) -> None:
    """Messages, bytes and times of all levels, on up to 2,048 ranks."""
    from laneway import figures

    wanted = problems([ranks for ranks in RANKS if not quick or ranks <= _QUICK_RANKS])
    found = find(wanted, console)
    by_problem = {problem: [level for level in found if level.problem == problem] for problem in wanted}
    largest = max(problem.ranks for problem in wanted)
    for problem, own in by_problem.items():
        if problem.ranks == largest:
            _print_levels(console, own)
    names = " / ".join(NAMES[strategy] for strategy in STRATEGIES[1:])
    table = Table(title=f"speedup over standard, sum of all levels (Figures 12 and 13): {names}; least / auto")
    for column in ("scaling", "ranks", *_SECONDS, "least / auto", "by max-rate"):
        table.add_column(column, justify="right")
    for problem, own in by_problem.items():
        ratios = [" / ".join(_ratio(own, s, kind) for s in STRATEGIES[1:]) for kind in _SECONDS]
        parts = [_least(own, "auto", kind) for kind in ("predicted", "max-rate")]
        table.add_row(problem.scaling, str(problem.ranks), *ratios, *parts)
    console.print(table)
    _print_setups(console, by_problem)
    for (scaling, strategy), published in _PUBLISHED.items():
        console.print(f"published on 2,048 ranks: {scaling}, {NAMES[strategy]}: {published}")
    results.write_csv(output / "hypre.csv", [row for level in found for row in level.rows()])
    figures.draw_lines(
        [
            figures.Value(f"{problem.scaling} scaling, {kind}", NAMES[strategy], problem.ranks, 1e3 * seconds)
            for kind in ("predicted", "simulated")
            for problem, own in by_problem.items()
            for strategy in STRATEGIES
            if (seconds := _total(own, strategy, kind))
        ],
        "ranks",
        "ms, sum of all levels",
        output / "hypre.svg",
    )
    setups = [figures.Value(*line) for line in _setup_lines(by_problem)]
    if setups:
        figures.draw_lines(setups, "ranks; exchanges", "ms", output / "hypre-setup.svg", logarithmic=True, columns=2)
    console.print(f"{output / 'hypre.csv'}, {output / 'hypre.svg'}, {output / 'hypre-setup.svg'}")


def fixed(output: Path, console: Console, *, quick: bool = False) -> None:
    """What ``auto`` saves against each strategy on all levels; on 2,048 ranks, which take more than an hour, too, unless ``quick``."""
    wanted = problems([ranks for ranks in _EVERY_STRATEGY_RANKS if not quick or ranks <= _QUICK_RANKS])
    table = Table(title="speedup over standard, sum of all levels, simulated")
    for column in ("scaling", "ranks", *_EVERY_STRATEGY, "best of each level"):
        table.add_column(column, justify="right")
    rows: list[dict[str, object]] = []
    for problem in wanted:
        files = levels(problem, [problem.ranks])
        times = [
            {name: _seconds(record) for name, record in _by_candidate(records).items()}
            for records in points.run_all([_point(problem, file, _EVERY_STRATEGY) for file in files])
        ]
        standard = sum(level["mpi"] for level in times)
        sums = [sum(level[name] for level in times) for name in _EVERY_STRATEGY]
        sums.append(sum(min(level.values()) for level in times))
        table.add_row(problem.scaling, str(problem.ranks), *(f"{standard / seconds:.2f}" for seconds in sums))
        rows += [
            {"scaling": problem.scaling, "ranks": problem.ranks, "level": _level_of(file), "strategy": name, "simulated_s": rounded(seconds)}
            for file, level in zip(files, times, strict=True)
            for name, seconds in level.items()
        ]
    console.print(table)
    results.write_csv(output / "hypre-fixed.csv", rows)
    console.print(output / "hypre-fixed.csv")
