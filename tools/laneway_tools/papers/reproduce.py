"""``laneway reproduce``: figures of papers on simulated clusters, and how far simulations can be trusted."""

from __future__ import annotations

import csv
import json
import math
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway_tools.draw.lines import Value, draw_lines
from laneway_tools.measure import results, validate
from laneway_tools.measure.results import Record, number, rounded
from laneway_tools.papers import (
    channels,
    clusters,
    collectives,
    discovery,
    flows,
    heterogeneous,
    measured,
    multigrid,
    points,
    scale,
    sources,
)
from laneway_tools.papers.points import Point
from laneway_tools.places import machines, talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool, root
from laneway_tools.places.places import Simulated
from laneway_tools.places.simulation import Platform
from laneway_tools.places.simulator import DATA, PRECISION

_MEASURED = "validate-cluster-4x4.csv"
_EMULATED = Simulated("cluster-4x4-200mbit", 4, 4)
_SEED = 11
_DIFFERENT = 1.1


# How far simulations can be trusted


@dataclass(frozen=True)
class Pair:
    """One exchange with one strategy: its time on the emulated cluster, and simulated."""

    exchange: str
    strategy: str
    measured: float
    simulated: float

    @property
    def ratio(self) -> float:
        return self.simulated / self.measured


def measured_times(path: Path) -> dict[tuple[str, str], float]:
    """Seconds by exchange and strategy, as ``laneway validate`` writes them."""
    if not path.is_file():
        raise UserError(f"{path} is missing: 'laneway validate --on cluster:4x4@200mbit -o …' writes it")
    times = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            times[row["exchange"], row["strategy"]] = float(row["measured_s"])
            times[row["exchange"], "mpi"] = float(row["mpi_s"])
    return times


def pairs_of(measured: dict[tuple[str, str], float], records: Iterable[Record]) -> list[Pair]:
    """What was measured and simulated."""
    pairs = []
    for record in records:
        key = f"{record['op']} {record['pattern']}, {record['bytes']} B", str(record["candidate"])
        seconds = number(record, "median_s")
        if key in measured and seconds is not None:
            pairs.append(Pair(*key, measured[key], seconds))
    return pairs


def order(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Of two strategies whose measured times differ by more than 10%: in the same order, and in the other one."""
    same = other = 0
    exchanges: dict[str, list[Pair]] = {}
    for pair in pairs:
        exchanges.setdefault(pair.exchange, []).append(pair)
    for group in exchanges.values():
        for a, b in combinations(group, 2):
            if max(a.measured, b.measured) < _DIFFERENT * min(a.measured, b.measured) or a.simulated == b.simulated:
                continue
            agree = (a.measured < b.measured) == (a.simulated < b.simulated)
            same += agree
            other += not agree
    return same, other


def _size(pair: Pair) -> int:
    return int(pair.exchange.rsplit(" ", 2)[1])


def simulator(output: Path, console: Console, *, quick: bool = False) -> None:
    """Compare the emulated cluster, as measured, with its simulation; all of it, also if ``quick``."""
    times = measured_times(measured.committed(_MEASURED))
    runs = [
        Point(
            _EMULATED,
            ("neighbor", "--op", run.operation, "--pattern", pattern, "--bytes", ",".join(map(str, run.sizes)))
            + ("--strategy", ",".join(validate.CANDIDATES), "--baseline", "mpi", "--iterations", "1")
            + ("--goodput", "2.44e7"),
        )
        for run in validate.runs(_SEED)
        for pattern in run.patterns
    ]
    pairs = pairs_of(times, (record for records in points.run_all(runs) for record in records))
    table = Table(title=f"simulated ÷ measured on cluster:4x4@200mbit, {len(pairs)} times")
    table.add_column("bytes")
    for column in ("strategies", "median", "10%", "90%", "same order", "other order"):
        table.add_column(column, justify="right")
    groups = [("up to 64", 0, 64), ("256 to 1024", 65, 1024), ("4096 to 16384", 1025, 16384), ("from 32768", 16385, 2**40)]
    for name, low, high in [*groups, ("all", 0, 2**40)]:
        chosen = [pair for pair in pairs if low <= _size(pair) <= high]
        for who, some in (
            ("mpi, direct", [pair for pair in chosen if pair.strategy in ("mpi", "direct")]),
            ("relays", [pair for pair in chosen if pair.strategy not in ("mpi", "direct")]),
        ):
            ratios = sorted(pair.ratio for pair in some)
            tenth = statistics.quantiles(ratios, n=10)
            table.add_row(name, who, f"{statistics.median(ratios):.2f}", f"{tenth[0]:.2f}", f"{tenth[-1]:.2f}", "", "")
        same, other = order(chosen)
        table.add_row("", "", "", "", "", str(same), str(other), end_section=True)
    console.print(table)
    error = math.exp(statistics.median(abs(math.log(pair.ratio)) for pair in pairs))
    console.print(f"half of all simulated times are within a factor of {error:.2f} of the measured ones")
    rows: list[dict[str, object]] = [
        {
            "exchange": pair.exchange,
            "strategy": pair.strategy,
            "measured_s": rounded(pair.measured),
            "simulated_s": rounded(pair.simulated),
            "ratio": f"{pair.ratio:.3f}",
        }
        for pair in pairs
    ]
    results.write_csv(output / "simulator.csv", rows)
    console.print(f"{output / 'simulator.csv'}")


# Y. H. Temuçin et al., ROCM-Aware Leader-based Designs for MPI Neighbourhood Collectives


@dataclass(frozen=True)
class Cluster:
    """One of the two clusters of the paper: where it is run, and how many nodes of eight GCDs it has."""

    name: str
    machine: str
    nodes: Sequence[int]


_CLUSTERS = (Cluster("A", "mi250-ib", (1, 2, 4)), Cluster("B", "frontier-like", (1, 2, 4, 8, 16)))
_GCDS = 8
_DENSITIES = (0.05, 0.2, 0.4, 0.6, 0.8)
_STRATEGIES = ("three_step", "two_step", "split", "load_aware", "leader_scatter", "auto")
_FEW_STRATEGIES = ("two_step", "load_aware", "leader_scatter")
_ONE_NODE_STRATEGIES = ("direct", "leader_scatter", "multi_path", "auto")
_MANY_GCDS = 64
_PANELS = 4  # of a picture
# Bytes of a block by GCDs: those of the paper, and between them as many as time allows.
_SIZES = {
    8: (2**18, 2**20, 2**22, 2**24, 2**26, 2**30),
    16: (2**18, 2**20, 2**24, 2**30),
    32: (2**18, 2**20, 2**30),
    64: (2**18, 2**30),
    128: (2**18, 2**30),
}
_MOST_MOVED = 2**20
# Messages of a block that is not moved, by GCDs, but not so many that they are shorter.
_MESSAGES = {8: 256, 16: 64, 32: 64, 64: 16, 128: 8}
_LEAST_MESSAGE = 57344
# (figure, its nodes): largest speedup that the text states.
_PUBLISHED = {
    ("7", 1): 2.16,
    ("7", 4): 7.03,
    ("8", 1): 1.35,
    ("8", 16): 4.02,
    ("10", 4): 3.82,
    ("11", 4): 2.29,
}
_MOORE = {
    ("A", 1): ("d=2,r=1,dims=4x2",),
    ("A", 2): ("d=2,r=1,dims=4x4",),
    ("A", 4): ("d=2,r=1,dims=8x4",),
    ("B", 4): ("d=2,r=1,dims=8x4", "d=2,r=2,dims=8x4"),
    ("B", 8): ("d=2,r=2,dims=8x8", "d=3,r=1,dims=4x4x4"),
}
_MATRICES = {
    "ccc_G_06": "ccc:k=6",
    "debr_G_08": "debruijn:k=8",
    "delaunay_n10-like": "delaunay:n=1024,seed=1,curve=0",
    "crack-like": "delaunay:n=10240,seed=1,curve=0",
}
# Columns of the dense matrix: a row of it is one block.
_DENSE_COLUMNS = 256


def _rocm_points(cluster: Cluster, nodes: int, operation: str, pattern: str, sizes: Sequence[int]) -> list[Point]:
    gcds = nodes * _GCDS
    strategies = _ONE_NODE_STRATEGIES if nodes == 1 else _STRATEGIES if gcds < _MANY_GCDS else _FEW_STRATEGIES
    rest = ("--strategy", ",".join(strategies), *points.once(cluster.machine))
    moved = [size for size in sizes if size <= _MOST_MOVED and gcds <= _MANY_GCDS]
    return [
        Point(
            Simulated(cluster.machine, nodes, _GCDS),
            ("neighbor", "--op", operation, "--pattern", pattern, "--bytes", ",".join(map(str, some)), *rest),
            ((PRECISION, _precision(gcds)), *variables),
        )
        for some, variables in [(moved, ()), *(([size], _unmoved(gcds, size)) for size in sizes if size not in moved)]
        if some
    ]


def _unmoved(gcds: int, size: int) -> tuple[tuple[str, str], ...]:
    """Of larger blocks only the time is simulated, and so many messages of each (docs/results/rocm.md)."""
    if size <= _MOST_MOVED:
        return ((DATA, "0"),)
    return ((DATA, "0"), ("LANEWAY_NETWORK_MESSAGE", str(max(size // _MESSAGES[gcds], _LEAST_MESSAGE))))


def _precision(gcds: int) -> str:
    """Seconds: events less far apart are one. A tenth of each changes times by 2% at most (docs/results/simulator.md)."""
    return "1e-9" if gcds <= _GCDS else "1e-7"


@cache
def _edges(pattern: str, ranks: int) -> tuple[tuple[int, int], ...]:
    """Of a graph, as ``laneway-bench explain`` plans it."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "edges.json"
        command = [find_local_tool("laneway-bench"), "explain", "--pattern", pattern, "--machine", f"node:1 rank:{ranks}"]
        command += ["--ranks", str(ranks), "--strategy", "direct", "--edges", str(file)]
        subprocess.run(command, check=True, capture_output=True)
        return tuple((source, destination) for source, destination, _ in json.loads(file.read_text()))


@dataclass(frozen=True)
class Case:
    """One exchange of the paper's benchmarks."""

    figure: str
    cluster: str
    nodes: int
    pattern: str
    records: Sequence[Record]

    def seconds(self, candidate: str) -> float | None:
        for record in self.records:
            if str(record["candidate"]) == candidate:
                return number(record, "median_s")
        return None

    def speedup(self, candidate: str) -> float | None:
        seconds, direct = self.seconds(candidate), self.seconds("mpi")
        return direct / seconds if seconds and direct else None

    @property
    def bytes(self) -> int:
        return int(number(self.records[0], "bytes") or 0)

    @property
    def best(self) -> tuple[str, float]:
        speedups = {str(r["candidate"]): self.speedup(str(r["candidate"])) for r in self.records if r["candidate"] != "mpi"}
        name = max(speedups, key=lambda candidate: speedups[candidate] or 0)
        return name, speedups[name] or 0

    @property
    def bound(self) -> float | None:
        """The speedup that the hardware allows: each byte into a node once; in one node, any ways between the GCDs."""
        direct, limit = self.seconds("mpi"), number(self.records[0], "limit_s")
        if self.nodes == 1:
            machine = next(cluster.machine for cluster in _CLUSTERS if cluster.name == self.cluster)
            rates = Platform(machines.read(machine), 1, _GCDS).device_rates()
            limit = flows.least_seconds(_edges(str(self.records[0]["pattern"]), _GCDS), rates, self.bytes)
        return direct / limit if direct and limit else None

    def _record(self, candidate: str) -> Record:
        return next(record for record in self.records if str(record["candidate"]) == candidate)

    def setup(self, candidate: str) -> tuple[float, float]:
        """Virtual seconds of creating the topology, and of init."""
        record = self._record(candidate)
        init = number(record, "init_s") or 0.0
        return (number(record, "setup_s") or 0.0) - init, init

    def payback(self, candidate: str) -> float | None:
        """Exchanges that make up for creation and init, of which direct has none; None where none do."""
        seconds, direct = self.seconds(candidate), self.seconds("mpi")
        return sum(self.setup(candidate)) / (direct - seconds) if seconds and direct and seconds < 0.999 * direct else None

    def best_with_setup(self, exchanges: int) -> float:
        """The largest speedup of so many exchanges together with creation and init."""
        direct = self.seconds("mpi")
        seconds = {name: self.seconds(name) for name in (str(r["candidate"]) for r in self.records) if name != "mpi"}
        return max(exchanges * direct / (sum(self.setup(n)) + exchanges * s) for n, s in seconds.items() if s and direct)

    def row(self) -> dict[str, object]:
        name, speedup = self.best
        leader, auto, bound = self.speedup("leader_scatter"), self.speedup("auto"), self.bound
        creation, init = self.setup(name)
        payback = self.payback(name)
        return {
            "figure": self.figure,
            "cluster": self.cluster,
            "gcds": self.nodes * _GCDS,
            "pattern": self.pattern,
            "bytes": self.bytes,
            "direct_s": rounded(self.seconds("mpi") or 0),
            "best": name,
            "speedup": f"{speedup:.3f}",
            "leader_scatter": "" if leader is None else f"{leader:.3f}",
            "auto": "" if auto is None else f"{auto:.3f}",
            "bound": "" if bound is None else f"{bound:.3f}",
            "creation_s": rounded(creation),
            "init_s": rounded(init),
            "payback_exchanges": "" if payback is None else f"{payback:.2f}",
        }


def _by_size(records: Iterable[Record]) -> list[list[Record]]:
    groups: dict[object, list[Record]] = {}
    for record in records:
        groups.setdefault((record["pattern"], record["bytes"]), []).append(record)
    return list(groups.values())


def _rocm_cases(quick: bool) -> list[Case]:
    wanted: list[tuple[str, Cluster, int, str, Point]] = []

    def add(figure: str, cluster: Cluster, nodes: int, label: str, pattern: str, sizes: Sequence[int]) -> None:
        for point in _rocm_points(cluster, nodes, "allgather", pattern, sizes):
            wanted.append((figure, cluster, nodes, label, point))

    for cluster in _CLUSTERS:
        for nodes in cluster.nodes:
            gcds = nodes * _GCDS
            if quick and gcds >= _MANY_GCDS:
                continue
            for density in _DENSITIES:
                figure = "7" if cluster.name == "A" else "8"
                add(figure, cluster, nodes, f"δ = {density}", f"rsg:density={density},seed=1", _SIZES[gcds])
            for shape in _MOORE.get((cluster.name, nodes), ()):
                figure = "10" if cluster.name == "A" else "9"
                add(figure, cluster, nodes, shape, f"moore:{shape}", _SIZES[gcds])
    for name, matrix in _MATRICES.items():
        add("11", _CLUSTERS[0], 4, name, f"matrix:{matrix}", (_spmm_bytes(matrix),))
    found = points.run_all([point for *_, point in wanted])
    return [
        Case(figure, cluster.name, nodes, label, group)
        for (figure, cluster, nodes, label, _), records in zip(wanted, found, strict=True)
        for group in _by_size(records)
    ]


def _spmm_bytes(matrix: str) -> int:
    """A rank's block of the dense matrix: its rows of 8 byte numbers."""
    rows = {"ccc:k=6": 384, "debruijn:k=8": 256}.get(matrix) or int(matrix.split("n=")[1].split(",")[0])
    return rows // 32 * _DENSE_COLUMNS * 8


def _print_setups(console: Console, cases: Sequence[Case]) -> None:
    """Section VI-B: the published creation of a topology takes 11 ms, with the paper's designs 22 ms, on 128 GCDs."""
    table = Table(title="creation of topologies and init in virtual time, the most of any case, and exchanges that earn them back")
    for column in ("cluster", "GCDs", "strategy", "creation µs", "init µs", "exchanges, 256 KiB", "1 MiB"):
        table.add_column(column, no_wrap=True)
    for cluster, nodes in dict.fromkeys((case.cluster, case.nodes) for case in cases):
        group = [case for case in cases if (case.cluster, case.nodes) == (cluster, nodes) and case.figure != "11"]
        for name in dict.fromkeys(str(record["candidate"]) for case in group for record in case.records):
            if name == "mpi":
                continue
            own = [case for case in group if case.seconds(name) is not None]
            creation, init = (max(1e6 * case.setup(name)[part] for case in own) for part in (0, 1))
            row = [cluster, str(nodes * _GCDS), name, f"{creation:.0f}", f"{init:.0f}"]
            for size in (262144, 1048576):
                some = [case.payback(name) for case in own if case.bytes == size]
                known = [payback for payback in some if payback is not None]
                row.append(f"{min(known):.2f} to {max(known):.2f}, {len(some) - len(known)} never" if known else "-")
            table.add_row(*row)
    console.print(table)


def _draw_rocm(table: Path, output: Path) -> list[Path]:
    """The pictures of what ``rocm`` has written, into a folder: random sparse graphs on each cluster, and Moore neighborhoods."""
    rows = results.read_csv(table, ("figure", "cluster", "gcds", "pattern", "bytes", "speedup"))

    def panels(figure: str) -> list[Value]:
        own = [row for row in rows if row["figure"] == figure]
        counts = sorted({int(row["gcds"]) for row in own})
        shown = {*counts[: _PANELS - 1], *counts[-1:]}
        return [
            Value(
                f"Figure {figure}, cluster {row['cluster']}, {row['gcds']} GCDs", row["pattern"], float(row["bytes"]), float(row["speedup"])
            )
            for row in own
            if int(row["gcds"]) in shown
        ]

    moore = []
    for row in (row for row in rows if row["figure"] in ("9", "10")):
        panel, line = f"Figure {row['figure']}, cluster {row['cluster']}", f"{row['gcds']} GCDs, {row['pattern'].replace(',', ', ')}"
        moore.append(Value(panel, line, float(row["bytes"]), float(row["speedup"])))
    drawn = (("rocm-figure-7", panels("7")), ("rocm-figure-8", panels("8")), ("rocm-moore", moore))
    return [
        draw_lines(values, "bytes of a block", "times as fast as direct", output / f"{name}.svg", reference=1)
        for name, values in drawn
        if values
    ]


def rocm(output: Path, console: Console, *, quick: bool = False) -> None:
    """Random sparse graphs, Moore neighborhoods and SpMM on the two clusters of the paper."""
    cases = _rocm_cases(quick)
    table = Table(title="ROCm-aware leader-based designs: largest speedup over direct")
    for column in ("figure", "cluster", "GCDs", "published", "ours", "with", "case", "bound there", "leader_scatter", "auto"):
        table.add_column(column, no_wrap=True)
    for figure, cluster, nodes in dict.fromkeys((case.figure, case.cluster, case.nodes) for case in cases):
        group = [case for case in cases if (case.figure, case.cluster, case.nodes) == (figure, cluster, nodes)]
        top = max(group, key=lambda case: case.best[1])
        published = _PUBLISHED.get((figure, nodes))
        leader = max((case.speedup("leader_scatter") or 0 for case in group), default=0)
        auto = max((case.speedup("auto") or 0 for case in group), default=0)
        table.add_row(
            figure,
            cluster,
            str(nodes * _GCDS),
            f"{published:.2f}" if published else "-",
            f"{top.best[1]:.2f}",
            top.best[0],
            f"{top.pattern}, {top.bytes >> 10} KiB",
            f"{top.bound:.2f}" if top.bound else "-",
            f"{leader:.2f}",
            f"{auto:.2f}" if auto else "-",
        )
    console.print(table)
    _print_setups(console, cases)
    path = output / "rocm.csv"
    results.write_csv(path, [case.row() for case in cases])
    console.print(", ".join(map(str, [path, *_draw_rocm(path, output)])))


_FIGURES: dict[str, Callable[..., None]] = {
    "simulator": simulator,
    "rocm": rocm,
    "hypre": multigrid.hypre,
    "hypre-fixed": multigrid.fixed,
    "lassen": heterogeneous.lassen,
    "scale": scale.scale,
    "dense": collectives.dense,
    "discovery": discovery.discovery,
    "finders": discovery.finders,
    "channels": channels.channels,
    "collectives": clusters.collectives,
    "reductions": clusters.reductions,
}
_SOURCES = "sources"
FIGURES = (*_FIGURES, _SOURCES)
#: From a table of the figure to pictures in a folder.
_DRAWN: dict[str, Callable[[Path, Path], list[Path]]] = {
    "rocm": _draw_rocm,
    "hypre": multigrid.draw,
    "lassen": heterogeneous.draw,
    "scale": scale.draw,
    "dense": collectives.draw,
    "discovery": discovery.draw,
    "finders": discovery.draw_finders,
    "channels": channels.draw,
    "collectives": clusters.draw_collectives,
    "reductions": clusters.draw_reductions,
}
#: Page of results, and from a table of the figure to the page's tables.
_PAGES: dict[str, tuple[str, Callable[[Path], list[measured.Part]]]] = {
    "dense": ("collectives.md", collectives.parts),
    "collectives": ("collectives.md", clusters.collectives_parts),
    "reductions": ("reductions.md", clusters.reductions_parts),
    "discovery": ("discovery.md", discovery.parts),
    "finders": ("discovery.md", discovery.finders_parts),
}


def run(figure: str, output: Path, *, quick: bool = False, table: Path | None = None, kept: bool = False) -> None:
    """Reproduce one of FIGURES; tables and pictures go to the folder ``output``. Of a table of the figure, only pictures.
    ``kept``: the table becomes that of the repository, whose page and pictures follow."""
    if figure not in FIGURES:
        raise UserError(f"reproduce {figure}: expected one of {', '.join(FIGURES)}")
    if table is not None and figure not in _DRAWN:
        raise UserError(f"reproduce {figure} --from: it has no pictures; expected one of {', '.join(_DRAWN)}")
    if kept and figure not in (*_PAGES, _SOURCES):
        raise UserError(f"reproduce {figure} --keep: no page has its tables; expected one of {', '.join(_PAGES)}")
    if kept and quick:
        raise UserError(f"reproduce {figure} --keep: not with --quick, which leaves out most of the table")
    output.mkdir(parents=True, exist_ok=True)
    if figure == _SOURCES:
        sources.run(output, talk.console(), kept=kept)
        return
    if table is None:
        _FIGURES[figure](output, talk.console(), quick=quick)
        table = output / f"{figure}.csv"
    elif not kept:
        talk.console().print(", ".join(map(str, _DRAWN[figure](table, output))))
    if kept:
        page, parts = _PAGES[figure]
        measured.keep(table, f"{figure}.csv", root() / "docs" / "results" / page, parts, _DRAWN[figure], talk.console())
