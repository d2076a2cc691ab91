"""``laneway reproduce hypre``: algebraic multigrid on up to 2,048 simulated ranks.

Gerald Collom, Ruipeng Li, Amanda Bienz: Optimizing Irregular Communication with Neighborhood Collectives and
Locality-Aware Parallelism, Figures 6 to 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway_tools.draw import style
from laneway_tools.draw.lines import Value, draw_lines
from laneway_tools.measure import results
from laneway_tools.measure.results import Record, number, rounded
from laneway_tools.papers import points
from laneway_tools.papers.points import Plans, Point
from laneway_tools.places import launch
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_program
from laneway_tools.places.places import Local, Simulated

MACHINE = "lassen"
RANKS_OF_NODE = 16
RANKS = (64, 128, 256, 512, 1024, 2048)
STRATEGIES = ("direct", "three_step_nodedup", "three_step", "auto")
_OTHERS = ("two_step", "grouped", "split", "load_aware", "common_neighborhood")  # that auto chooses from
# What one run simulates: of a level on 2,048 ranks in up to four minutes of a processor.
_RUNS = (STRATEGIES[:3], STRATEGIES[3:])
# What the paper calls them: partially and fully optimized.
NAMES = {"direct": "standard", "three_step_nodedup": "partial", "three_step": "full", "auto": "auto"}
_STRONG_GRID = (1024, 512)
_QUICK_RANKS = 256
_EVERY_STRATEGY_RANKS = (256, 2048)
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
    name = f"halos-{points.digest(program.read_bytes(), repr(grid).encode())}"

    def make(target: Path, missing: list[str]) -> None:
        arguments = [*grid, "--for-ranks", ",".join(missing), "--write-halos", str(target)]
        with (target.parent / "log").open("wb") as log:
            if launch.run(launch.Job([str(program), *arguments], Local(), ranks=1), log) != 0:
                raise UserError(f"laneway-bench {' '.join(arguments)} failed; {log.name} says why", 1)

    return points.made_once(name, [str(count) for count in sorted(set(ranks))], make)


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
    """One level of a problem: what the plans say, and simulated times."""

    problem: Problem
    level: int
    planned: dict[str, Record]
    simulated: dict[str, Record]
    by_max_rate: Record  #: of ``auto`` that chooses by this model

    def predicted(self, strategy: str) -> float:
        return number(self.planned[strategy], "predicted_s") or 0.0

    def seconds(self, strategy: str) -> float:
        """Simulated; standard is a loop of messages without this library."""
        return _seconds(self.simulated["mpi" if strategy == "direct" else strategy])

    def max_rate(self, strategy: str) -> float:
        """By the max-rate model, in which a rank's messages take their latencies one after another; ``auto`` goes by it, too."""
        record = self.by_max_rate if strategy == "auto" else self.planned[strategy]
        return number(record, "max_rate_s") or 0.0

    def least(self, kind: str) -> float | None:
        """What no plan can beat, by a model."""
        keys = {"predicted": "least_s", "max-rate": "least_max_rate_s"}
        return number(next(iter(self.planned.values())), keys[kind]) if kind in keys else None

    def setup(self, strategy: str) -> tuple[float, float]:
        """Virtual seconds of creating the topology, and of init."""
        record = self.simulated[strategy]
        init = number(record, "init_s") or 0.0
        return (number(record, "setup_s") or 0.0) - init, init

    def count(self, strategy: str, key: str) -> int:
        return int(number(self.planned[strategy], key) or 0)

    def rows(self) -> list[dict[str, object]]:
        keys = ("node_messages_max", "net_messages_max", "net_messages_total", "net_bytes_max", "net_bytes_total")
        table = []
        for strategy, record in self.planned.items():
            creation, init = self.setup(strategy)
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
                    "simulated_s": rounded(self.seconds(strategy)),
                    "creation_s": rounded(creation),
                    "init_s": rounded(init),
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


def simulate(levels_of: Sequence[tuple[Problem, Path]], runs: Sequence[Sequence[str]]) -> list[dict[str, Record]]:
    """Of each level the records of these strategies, and of the loop of messages."""
    records = iter(points.run_all([_point(problem, file, run) for problem, file in levels_of for run in runs]))
    return [_by_candidate(record for _ in runs for record in next(records)) for _ in levels_of]


def find(wanted: Sequence[Problem], console: Console) -> list[LevelOf]:
    """All levels of the problems, planned on all ranks, and simulated."""
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
    simulated = simulate([(problem, file) for problem, file, *_ in files], _RUNS)
    return [
        LevelOf(problem, _level_of(file), _by_candidate(records), found, automatic)
        for (problem, file, records, automatic), found in zip(files, simulated, strict=True)
    ]


#: What the seconds of a level may come from.
_SECONDS: dict[str, Callable[[LevelOf, str], float]] = {
    "predicted": LevelOf.predicted,
    "max-rate": LevelOf.max_rate,
    "simulated": LevelOf.seconds,
}


def _total(some: Sequence[LevelOf], strategy: str, kind: str) -> float:
    return sum(_SECONDS[kind](level, strategy) for level in some)


def _ratio(some: Sequence[LevelOf], strategy: str, kind: str) -> str:
    return f"{_total(some, 'direct', kind) / _total(some, strategy, kind):.2f}"


def _least(some: Sequence[LevelOf], strategy: str, kind: str) -> str:
    """The part of a strategy's time that no plan can do without."""
    return f"{sum(level.least(kind) or 0.0 for level in some) / _total(some, strategy, kind):.2f}"


def _setup_total(some: Sequence[LevelOf], strategy: str) -> tuple[float, float]:
    """Virtual seconds of creation and of init, once for each level."""
    setups = [level.setup(strategy) for level in some]
    return sum(creation for creation, _ in setups), sum(init for _, init in setups)


def payback(some: Sequence[LevelOf], strategy: str, kind: str) -> float | None:
    """Exchanges of all levels that earn what init takes longer than that of standard; None for never."""
    standard, own = (_total(some, name, kind) for name in ("direct", strategy))
    extra = _setup_total(some, strategy)[1] - _setup_total(some, "direct")[1]
    return extra / (standard - own) if own < standard else None


def _print_setups(console: Console, by_problem: dict[Problem, list[LevelOf]]) -> None:
    """Figures 6 and 7."""
    table = Table(
        title="creation of topologies and init, all levels, virtual ms; exchanges that earn what init takes longer than that of standard"
    )
    for column in ("scaling", "ranks", "creation", "init: " + " / ".join(NAMES.values())):
        table.add_column(column, justify="right")
    for kind in _SECONDS:
        table.add_column(f"payback, {kind}", justify="right")
    for problem, own in by_problem.items():
        row = [problem.scaling, str(problem.ranks), f"{1e3 * _setup_total(own, 'direct')[0]:.2f}"]
        row.append(" / ".join(f"{1e3 * _setup_total(own, s)[1]:.2f}" for s in STRATEGIES))
        for kind in _SECONDS:
            found = [payback(own, s, kind) for s in STRATEGIES[1:]]
            row.append(" / ".join("never" if x is None else f"{x:.0f}" for x in found))
        table.add_row(*row)
    console.print(table)


@dataclass(frozen=True)
class _Sums:
    """Seconds of all levels of a problem by strategy, as its rows of the table have them."""

    scaling: str
    ranks: int
    rows: Sequence[Mapping[str, str]]

    def total(self, strategy: str, key: str) -> float:
        return sum(float(row[key]) for row in self.rows if row["strategy"] == strategy)

    def of_cheaper(self, strategy: str, key: str) -> float:
        """Section 4.2: of each level the cheaper of standard and this strategy. An oracle of two: nobody knows it beforehand."""
        seconds = {(row["level"], row["strategy"]): float(row[key]) for row in self.rows}
        return sum(min(own, seconds[level, "direct"]) for (level, name), own in seconds.items() if name == strategy)


def _sums(table: Path) -> list[_Sums]:
    rows = results.read_csv(table, ("scaling", "ranks", "level", "strategy", "predicted_s", "simulated_s", "creation_s", "init_s"))
    groups: dict[tuple[str, int], list[Mapping[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["scaling"], int(row["ranks"])), []).append(row)
    return [_Sums(*key, own) for key, own in groups.items()]


def print_rule(console: Console, table: Path) -> None:
    """Figures 12 and 13 as they were drawn, beside plain sums: from what ``hypre`` has written."""
    shown = Table(title="simulated speedup over standard: plain sums, and the cheaper of standard and the strategy of each level")
    for column in ("scaling", "ranks", *(f"{NAMES[s]}: {how}" for s in STRATEGIES[1:] for how in ("plain", "cheaper")), "published"):
        shown.add_column(column, justify="right")
    for own in _sums(table):
        standard = own.total("direct", "simulated_s")
        sums = [of(s, "simulated_s") for s in STRATEGIES[1:] for of in (own.total, own.of_cheaper)]
        published = [f"{_PUBLISHED[own.scaling, s]:.2f}" for s in STRATEGIES[1:3] if own.ranks == RANKS[-1]]
        shown.add_row(own.scaling, str(own.ranks), *(f"{standard / seconds:.2f}" for seconds in sums), " / ".join(published))
    console.print(shown)


def _setup_values(sums: Sequence[_Sums]) -> tuple[list[Value], dict[str, str]]:
    """Seconds, and what x is in each panel: creation and init by ranks; on the most ranks init and so many exchanges."""
    values, x = [], {}
    for own in sums:
        panel = f"{own.scaling} scaling: init of all levels"
        x[panel] = "ranks"
        values += [Value(panel, NAMES[s], own.ranks, own.total(s, "init_s")) for s in STRATEGIES]
        values.append(Value(panel, "creation", own.ranks, own.total("direct", "creation_s")))
    largest = max(own.ranks for own in sums)
    for own in sums:
        if own.ranks == largest:
            panel = f"{own.scaling} scaling, {largest:,} ranks: init and exchanges"
            x[panel] = "exchanges"
            for s in STRATEGIES:
                init, seconds = own.total(s, "init_s"), own.total(s, "simulated_s")
                values += [Value(panel, NAMES[s], n, init + n * seconds) for n in (1, 2, 4, 8, 16, 32, 64, 128)]
    return values, x


def draw(table: Path, output: Path) -> list[Path]:
    """The pictures of what ``hypre`` has written, into a folder."""
    sums = _sums(table)
    times = [
        Value(f"{own.scaling} scaling, {kind}", NAMES[s], own.ranks, own.total(s, f"{kind}_s"))
        for kind in ("predicted", "simulated")
        for own in sums
        for s in STRATEGIES
    ]
    setups, x = _setup_values(sums)
    return [
        draw_lines(times, "ranks", "time of all levels (lower is better)", output / "hypre.svg", y_text=style.seconds_text),
        draw_lines(setups, x, "virtual time (lower is better)", output / "hypre-setup.svg", y_text=style.seconds_text, logarithmic=True),
    ]


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
    wanted = problems([ranks for ranks in RANKS if not quick or ranks <= _QUICK_RANKS])
    found = find(wanted, console)
    by_problem = {problem: [level for level in found if level.problem == problem] for problem in wanted}
    largest = max(problem.ranks for problem in wanted)
    for problem, own in by_problem.items():
        if problem.ranks == largest:
            _print_levels(console, own)
    names = " / ".join(NAMES[strategy] for strategy in STRATEGIES[1:])
    table = Table(title=f"speedup over standard, sum of all levels : {names}; least / auto")
    for column in ("scaling", "ranks", *_SECONDS, "least / auto", "by max-rate"):
        table.add_column(column, justify="right")
    for problem, own in by_problem.items():
        ratios = [" / ".join(_ratio(own, s, kind) for s in STRATEGIES[1:]) for kind in _SECONDS]
        parts = [_least(own, "auto", kind) for kind in ("predicted", "max-rate")]
        table.add_row(problem.scaling, str(problem.ranks), *ratios, *parts)
    console.print(table)
    _print_setups(console, by_problem)
    table_path = output / "hypre.csv"
    results.write_csv(table_path, [row for level in found for row in level.rows()])
    print_rule(console, table_path)
    console.print(", ".join(map(str, [table_path, *draw(table_path, output)])))


def fixed(output: Path, console: Console, *, quick: bool = False) -> None:
    """What ``auto`` saves against each strategy on all levels; on 2,048 ranks, which take more than an hour, too, unless ``quick``."""
    wanted = problems([ranks for ranks in _EVERY_STRATEGY_RANKS if not quick or ranks <= _QUICK_RANKS])
    strategies = (*STRATEGIES[1:], *_OTHERS)
    table = Table(title="speedup over standard, sum of all levels, simulated")
    for column in ("scaling", "ranks", *strategies, "best of each level"):
        table.add_column(column, justify="right")
    rows: list[dict[str, object]] = []
    levels_of = [(problem, file) for problem in wanted for file in levels(problem, [problem.ranks])]
    by_problem: dict[Problem, dict[int, dict[str, float]]] = {problem: {} for problem in wanted}
    for (problem, file), records in zip(levels_of, simulate(levels_of, (*_RUNS, _OTHERS)), strict=True):
        by_problem[problem][_level_of(file)] = {name: _seconds(records[name]) for name in ("mpi", *strategies)}
    for problem, own in by_problem.items():
        standard = sum(level["mpi"] for level in own.values())
        sums = [sum(level[name] for level in own.values()) for name in strategies]
        sums.append(sum(min(level.values()) for level in own.values()))
        table.add_row(problem.scaling, str(problem.ranks), *(f"{standard / seconds:.2f}" for seconds in sums))
        rows += [
            {"scaling": problem.scaling, "ranks": problem.ranks, "level": level, "strategy": name, "simulated_s": rounded(seconds)}
            for level, found in own.items()
            for name, seconds in found.items()
        ]
    console.print(table)
    results.write_csv(output / "hypre-fixed.csv", rows)
    console.print(output / "hypre-fixed.csv")
