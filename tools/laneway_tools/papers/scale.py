"""``laneway reproduce scale``: strategies on up to a million ranks, from plans alone, and what of that can be simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from laneway_tools.places.places import Simulated

#: Ranks of a node.
MACHINES = {"lassen": 16, "frontier-like": 8}
_FIRST = "lassen"
RANKS = (1024, 16384, 100_000, 1_000_000)
_QUICK_RANKS = 16384
# On more ranks, the plans of so many nodes stand for all.
_ALL_PLANNED = 16384
SAMPLE = 4
STRATEGIES = (
    "direct",
    "three_step",
    "two_step",
    "split",
    "load_aware",
    "grouped",
    "common_neighborhood",
    "leader_scatter",
    "auto",
)
# Nodes and ranks on each that can be simulated in minutes, and what is.
_SIMULATED = ((64, 2), (128, 2), (1024, 2))
_SIMULATED_STRATEGIES = ("direct", "three_step", "split", "auto")


@dataclass(frozen=True)
class Pattern:
    """What the ranks exchange. Each knows its own edges without a list of all."""

    name: str
    spec: str
    operation: str
    bytes: int


PATTERNS = (
    Pattern("27-point halo, 8³ unknowns", "box:unknowns=8", "alltoallv", 8),
    Pattern("Moore, d = 2, r = 2, 1 KiB", "moore:d=2,r=2,periodic=0", "allgather", 1024),
    Pattern("near random graph, 1 KiB", "local:degree=24,r=2", "allgather", 1024),
)


@dataclass(frozen=True)
class Case:
    """A pattern on a machine."""

    machine: str
    pattern: Pattern
    nodes: int
    ranks_of_node: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_of_node

    def plans(self, strategies: Iterable[str] = STRATEGIES, *, sample: bool | None = None) -> Plans:
        """Of all nodes, or of some; by default of some where there are many."""
        arguments = ("--op", self.pattern.operation, "--bytes", str(self.pattern.bytes), "--pattern", self.pattern.spec)
        arguments += ("--ranks", str(self.ranks), "--machine", f"node:{self.nodes} rank:{self.ranks_of_node}")
        arguments += ("--strategy", ",".join(strategies))
        if self.ranks > _ALL_PLANNED if sample is None else sample:
            arguments += ("--sample", str(SAMPLE))
        return Plans(self.machine, arguments)

    def simulation(self) -> Point:
        arguments = ("neighbor", "--op", self.pattern.operation, "--bytes", str(self.pattern.bytes))
        arguments += ("--pattern", self.pattern.spec, "--strategy", ",".join(_SIMULATED_STRATEGIES))
        arguments += points.once(self.machine)
        return Point(Simulated(self.machine, self.nodes, self.ranks_of_node), arguments)


def cases(ranks: Sequence[int]) -> list[Case]:
    """All patterns on all machines."""
    return [
        Case(machine, pattern, count // ranks_of_node, ranks_of_node)
        for machine, ranks_of_node in MACHINES.items()
        for pattern in PATTERNS
        for count in ranks
    ]


@dataclass(frozen=True)
class Found:
    """What the plans say of a case with one strategy, and its simulated times where it has been simulated."""

    case: Case
    planned: Record
    simulated: float | None = None

    @property
    def strategy(self) -> str:
        return str(self.planned["candidate"])

    @property
    def predicted(self) -> float:
        return number(self.planned, "predicted_s") or 0.0

    def count(self, key: str) -> int:
        return int(number(self.planned, key) or 0)

    def row(self) -> dict[str, object]:
        keys = ("net_messages_max", "net_bytes_max", "node_messages_max", "setup_letters_max", "setup_letter_bytes_max")
        keys += ("setup_gather_bytes_max", "staging_bytes_max", "metadata_bytes_max")
        return {
            "machine": self.case.machine,
            "op": self.case.pattern.operation,
            "pattern": self.case.pattern.spec,
            "bytes": self.case.pattern.bytes,
            "nodes": self.case.nodes,
            "ranks": self.case.ranks,
            "planned_nodes": self.planned["planned_nodes"],
            "strategy": self.strategy,
            "chosen": self.planned["chosen"],
            "predicted_s": rounded(self.predicted),
            "simulated_s": "" if self.simulated is None else rounded(self.simulated),
            **{key: self.planned[key] for key in keys},
            "rank_planning_s": rounded(number(self.planned, "rank_planning_s") or 0),
        }


def find(wanted: Sequence[Case]) -> list[Found]:
    """The plans of all cases, for every strategy."""
    records = points.run_all([case.plans() for case in wanted])
    return [Found(case, record) for case, of_case in zip(wanted, records, strict=True) for record in of_case]


def simulate(shapes: Iterable[tuple[int, int]]) -> list[Found]:
    """Patterns on as many nodes and ranks of each as can be simulated, beside what their plans say."""
    wanted = [Case("lassen", pattern, *shape) for pattern in PATTERNS for shape in shapes]
    planned = points.run_all([case.plans(_SIMULATED_STRATEGIES) for case in wanted])
    simulated = points.run_all([case.simulation() for case in wanted])
    found = []
    for case, plans, times in zip(wanted, planned, simulated, strict=True):
        seconds = {str(record["candidate"]): number(record, "median_s") for record in times}
        found += [Found(case, record, seconds.get(str(record["candidate"]))) for record in plans]
    return found


def sampling_ratios(ranks: int) -> list[float]:
    """Predicted times by some nodes, as parts of those by all, without ``auto``, which may choose otherwise."""
    wanted = cases([ranks])
    every, some = (points.run_all([case.plans(sample=sample) for case in wanted]) for sample in (False, True))
    return [
        (number(one, "predicted_s") or 0) / (number(other, "predicted_s") or 1)
        for sampled, planned in zip(some, every, strict=True)
        for one, other in zip(sampled, planned, strict=True)
        if one["candidate"] != "auto"
    ]


def _print_setups(console: Console, found: Sequence[Found]) -> None:
    """What a rank needs for its setup, the most of any, on the largest machine."""
    largest = max(one.case.ranks for one in found)
    table = Table(title=f"{largest:,} ranks: a rank's setup and memory, the most of any")
    for column in ("pattern", "strategy", "letters", "their bytes", "gathered", "staging", "plan", "planned in µs"):
        table.add_column(column, justify="left" if column in ("pattern", "strategy") else "right")
    for one in found:
        if one.case.ranks != largest or one.case.machine != _FIRST:
            continue
        keys = ("setup_letters_max", "setup_letter_bytes_max", "setup_gather_bytes_max", "staging_bytes_max", "metadata_bytes_max")
        seconds = number(one.planned, "rank_planning_s") or 0
        table.add_row(one.case.pattern.name, one.strategy, *(f"{one.count(key):,}" for key in keys), f"{1e6 * seconds:.0f}")
    console.print(table)


def _print_times(console: Console, found: Sequence[Found]) -> None:
    table = Table(title="predicted µs of an exchange; in brackets, what auto has chosen")
    for column in ("machine", "pattern", "ranks", *STRATEGIES):
        table.add_column(column, justify="left" if column in ("machine", "pattern") else "right")
    for case in dict.fromkeys(one.case for one in found):
        own = {one.strategy: one for one in found if one.case == case}
        times = [f"{1e6 * own[strategy].predicted:.1f}" for strategy in STRATEGIES]
        times[-1] += f" ({own['auto'].planned['chosen']})"
        table.add_row(case.machine, case.pattern.name, f"{case.ranks:,}", *times)
    console.print(table)


def _print_simulated(console: Console, found: Sequence[Found]) -> None:
    table = Table(title="µs of an exchange, predicted / simulated")
    for column in ("pattern", "nodes x ranks", *_SIMULATED_STRATEGIES):
        table.add_column(column, justify="left" if column == "pattern" else "right")
    for case in dict.fromkeys(one.case for one in found):
        own = {one.strategy: one for one in found if one.case == case}
        times = [f"{1e6 * own[s].predicted:.1f} / {1e6 * (own[s].simulated or 0):.1f}" for s in _SIMULATED_STRATEGIES]
        table.add_row(case.pattern.name, f"{case.nodes}x{case.ranks_of_node}", *times)
    console.print(table)


def _needs(row: Mapping[str, str]) -> dict[str, float]:
    """What setup and request take of the rank where it is most; the request is staging memory and the plan itself."""
    return {
        "setup messages": float(row["setup_letters_max"]),
        "memory of a request": float(row["staging_bytes_max"]) + float(row["metadata_bytes_max"]),
    }


def draw(table: Path, output: Path) -> list[Path]:
    """The pictures of what ``scale`` has written, into a folder: predicted times on each machine, and needs of two patterns."""
    columns = ("machine", "pattern", "nodes", "ranks", "strategy", "predicted_s")
    rows = results.read_csv(table, (*columns, "setup_letters_max", "staging_bytes_max", "metadata_bytes_max"))
    rows = [row for row in rows if int(row["ranks"]) == int(row["nodes"]) * MACHINES[row["machine"]]]  # not the simulated ones
    names = {pattern.spec: pattern.name for pattern in PATTERNS}
    made = []
    for machine in dict.fromkeys(row["machine"] for row in rows):
        values = [
            Value(names[row["pattern"]], row["strategy"], float(row["ranks"]), float(row["predicted_s"]))
            for row in rows
            if row["machine"] == machine
        ]
        path = output / ("scale.svg" if machine == _FIRST else f"scale-{machine}.svg")
        made.append(
            draw_lines(values, "ranks", f"predicted time, {machine} (lower is better)", path, y_text=style.seconds_text, logarithmic=True)
        )
    for what, text in (("setup messages", style.count_text), ("memory of a request", style.bytes_text)):
        values = [
            Value(names[row["pattern"]], row["strategy"], float(row["ranks"]), _needs(row)[what])
            for row in rows
            if row["machine"] == _FIRST
        ]
        path = output / f"scale-{what.split()[0]}.svg"
        made.append(draw_lines(values, "ranks", f"{what}, most of any rank (lower is better)", path, y_text=text))
    return made


def scale(output: Path, console: Console, *, quick: bool = False) -> None:
    """Predicted times, setup and memory of strategies by the number of ranks."""
    found = find(cases([count for count in RANKS if not quick or count <= _QUICK_RANKS]))
    _print_times(console, found)
    _print_setups(console, found)
    ratios = sorted(sampling_ratios(RANKS[0]))
    console.print(
        f"{SAMPLE} nodes of {RANKS[0]} ranks for all: predicted times are {ratios[0]:.2f} to {ratios[-1]:.2f} of those by all, "
        f"half of them from {ratios[len(ratios) // 2]:.2f}"
    )
    simulated = simulate(_SIMULATED[:1] if quick else _SIMULATED)
    _print_simulated(console, simulated)
    table = output / "scale.csv"
    results.write_csv(table, [one.row() for one in [*found, *simulated]])
    console.print(", ".join(map(str, [table, *draw(table, output)])))
