"""``laneway reproduce rocm``: graphs of GCDs on simulated nodes of two clusters.

Y. H. Temuçin et al.: ROCM-Aware Leader-based Designs for MPI Neighbourhood Collectives, Figures 2 and 7 to 11.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway_tools.draw.lines import Value, draw_lines
from laneway_tools.measure import results
from laneway_tools.measure.results import Record, number, rounded
from laneway_tools.papers import flows, measured, points
from laneway_tools.papers.measured import Part
from laneway_tools.papers.model import size_text
from laneway_tools.papers.points import Plans, Point
from laneway_tools.places import machines
from laneway_tools.places.paths import find_local_tool
from laneway_tools.places.places import Simulated
from laneway_tools.places.simulation import Platform
from laneway_tools.places.simulator import DATA, PRECISION


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
_FEW_STRATEGIES = ("two_step", "load_aware", "leader_scatter", "auto")
_ONE_NODE_STRATEGIES = ("direct", "leader_scatter", "multi_path", "auto")
_MANY_GCDS = 64
_PANELS = 4  # of a picture
# Bytes of a block by GCDs: those of the paper, and between them as many as time allows.
_SIZES = {
    8: (2**18, 2**20, 2**22, 2**24, 2**26, 2**30),
    16: (2**18, 2**20, 2**24, 2**30),
    32: (2**18, 2**20, 2**30),
    64: (2**18, 2**24, 2**30),
    128: (2**18, 2**24, 2**30),
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
    ("2", 1): 1.75,
}
# Those of them that the text gives for one density.
_PUBLISHED_AT = {("7", 8, "δ = 0.4"): 2.16, ("7", 8, "δ = 0.6"): 1.60, ("8", 8, "δ = 0.6"): 1.35}
# Figure 2: GCD 6 has a block for 4 and 5, which are two hops away and have four links between them.
_SCATTERED = (6, (4, 5))
_MOORE = {
    ("A", 1): ("d=2,r=1,dims=4x2",),
    ("A", 2): ("d=2,r=1,dims=4x4",),
    ("A", 4): ("d=2,r=1,dims=8x4",),
    ("B", 4): ("d=2,r=1,dims=8x4", "d=2,r=2,dims=8x4"),
    ("B", 8): ("d=2,r=2,dims=8x8", "d=2,r=3,dims=8x8", "d=3,r=1,dims=4x4x4"),
    ("B", 16): ("d=2,r=2,dims=16x8", "d=2,r=3,dims=16x8", "d=3,r=1,dims=8x4x4"),
}


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix of Table III: its name as a pattern, its rows, and its non-zero elements as the paper gives them."""

    pattern: str
    rows: int
    nonzeros: int


_MATRICES = {
    "ccc_G_06": Matrix("ccc:k=6", 384, 1152),
    "debr_G_08": Matrix("debruijn:k=8", 256, 1018),
    "delaunay_n10-like": Matrix("delaunay:n=1024,seed=1,curve=0", 1024, 6112),
    "crack-like": Matrix("delaunay:n=10240,seed=1,curve=0", 10240, 60760),
}
_SPMM_GCDS = 32
# Columns of the dense matrix, of numbers of 8 bytes. A non-zero element is such a number and an index of 4 bytes.
_DENSE_COLUMNS = 256
_NUMBER_BYTES, _ELEMENT_BYTES = 8, 12
# The memory of one GCD of an MI250, as AMD gives it (3.2 TB/s for two); a kernel's launch as the machine file has one of a copy.
_MEMORY_BYTES_PER_SECOND, _LAUNCH_SECONDS = 1.6e12, 1e-5
# So many products share a creation of the topology and init in the table.
_PRODUCTS = (1, 20)


def _points(cluster: Cluster, nodes: int, operation: str, pattern: str, sizes: Sequence[int]) -> list[Point]:
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

    def best_with_setup(self, exchanges: int, between: float = 0) -> float:
        """The largest speedup of so many exchanges, of what else takes time at each of them, and of what is done once: creation, which
        a graph for MPI's own operation takes, too, and init."""
        direct = self.seconds("mpi")
        seconds = {name: self.seconds(name) for name in (str(r["candidate"]) for r in self.records) if name != "mpi"}
        return max(
            (self.setup(n)[0] + exchanges * (direct + between)) / (sum(self.setup(n)) + exchanges * (s + between))
            for n, s in seconds.items()
            if s and direct
        )

    def product(self) -> dict[str, str]:
        """Of Figure 11: seconds of the product on a GCD, and speedups with it, creation and init."""
        matrix = _MATRICES.get(self.pattern) if self.figure == "11" else None
        if matrix is None:
            return {"product_s": "", **{_with_product(count): "" for count in _PRODUCTS}}
        seconds = product_seconds(matrix)
        return {"product_s": rounded(seconds), **{_with_product(n): f"{self.best_with_setup(n, seconds):.3f}" for n in _PRODUCTS}}

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
            **self.product(),
        }


def _by_size(records: Iterable[Record]) -> list[list[Record]]:
    groups: dict[object, list[Record]] = {}
    for record in records:
        groups.setdefault((record["pattern"], record["bytes"]), []).append(record)
    return list(groups.values())


def _cases(quick: bool) -> list[Case]:
    wanted: list[tuple[str, Cluster, int, str, Point]] = []

    def add(figure: str, cluster: Cluster, nodes: int, label: str, pattern: str, sizes: Sequence[int]) -> None:
        for point in _points(cluster, nodes, "allgather", pattern, sizes):
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
    add("2", _CLUSTERS[0], 1, "6 to 4 and 5", f"matrix:{_scattered()}", _SIZES[_GCDS])
    for name, matrix in _MATRICES.items():
        add("11", _CLUSTERS[0], _SPMM_GCDS // _GCDS, name, f"matrix:{matrix.pattern}", (_spmm_bytes(matrix),))
    found = points.run_all([point for *_, point in wanted])
    return [
        Case(figure, cluster.name, nodes, label, group)
        for (figure, cluster, nodes, label, _), records in zip(wanted, found, strict=True)
        for group in _by_size(records)
    ]


def _scattered() -> Path:
    """The graph of Figure 2, as a matrix: a row for each GCD, whose columns are those that it needs something of."""
    source, destinations = _SCATTERED
    entries = [f"{to + 1} {source + 1}" for to in destinations]
    path = points.folder() / "figure-2.mtx"
    path.write_text("\n".join(("%%MatrixMarket matrix coordinate pattern general", f"{_GCDS} {_GCDS} {len(entries)}", *entries, "")))
    return path


def _spmm_bytes(matrix: Matrix) -> int:
    """A rank's block of the dense matrix."""
    return matrix.rows // _SPMM_GCDS * _DENSE_COLUMNS * _NUMBER_BYTES


def product_seconds(matrix: Matrix) -> float:
    """The product of a GCD's rows, as long as its memory takes: a row of the dense matrix is read for each non-zero element, and
    a row of the result is written."""
    elements = matrix.nonzeros / _SPMM_GCDS
    moved = elements * (_ELEMENT_BYTES + _DENSE_COLUMNS * _NUMBER_BYTES) + _spmm_bytes(matrix)
    return _LAUNCH_SECONDS + moved / _MEMORY_BYTES_PER_SECOND


def _with_product(count: int) -> str:
    return f"speedup_of_{count}"


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


# Creation with registration of memory (section VI-B)

CREATION_BYTES = 2**23
_LARGEST = 2**30
_LEAST_GCDS = 32
_CREATION_COLUMNS = (
    *("cluster", "gcds", "pattern", "bytes", "strategy", "edges", "staging_bytes", "buffers_s", "staging_s"),
    *("creation_s", "init_s", "direct_s", "simulated_s"),
)


@dataclass(frozen=True)
class Creation:
    """What the best strategy takes once on one graph, and saves in each exchange of 8 MiB."""

    row_of_rocm: Mapping[str, str]  #: of 1 GiB: times of 8 MiB are in proportion
    edges: int  #: of the rank that has most incoming ones
    staging: int  #: bytes of the rank that has most
    registration: machines.Registration

    def row(self) -> dict[str, object]:
        own = self.row_of_rocm
        direct = float(own["direct_s"]) * CREATION_BYTES / int(own["bytes"])
        return {
            **{key: own[key] for key in ("cluster", "gcds", "pattern")},
            "bytes": CREATION_BYTES,
            "strategy": own["best"],
            "edges": self.edges,
            "staging_bytes": self.staging,
            "buffers_s": rounded(self.registration.seconds(CREATION_BYTES, self.edges * CREATION_BYTES)),
            "staging_s": rounded(self.registration.seconds(self.staging)),
            "creation_s": own["creation_s"],
            "init_s": own["init_s"],
            "direct_s": rounded(direct),
            "simulated_s": rounded(direct / float(own["speedup"])),
        }


def _creation_plans(machine: str, nodes: int, pattern: str, strategy: str) -> Plans:
    arguments = ("--pattern", pattern, "--op", "allgather", "--bytes", str(CREATION_BYTES), "--ranks", str(nodes * _GCDS))
    return Plans(machine, (*arguments, "--machine", f"node:{nodes} gpu:4 gcd:2", "--strategy", strategy))


def creations(table: Path) -> list[Creation]:
    """Of the random sparse graphs of what ``rocm`` has written, on 32 GCDs and more."""
    rows = results.read_csv(table, ("figure", "cluster", "gcds", "pattern", "bytes", "direct_s", "best", "speedup", "creation_s", "init_s"))
    rows = [row for row in rows if row["figure"] in ("7", "8") and int(row["gcds"]) >= _LEAST_GCDS and int(row["bytes"]) == _LARGEST]
    machine_of = {cluster.name: cluster.machine for cluster in _CLUSTERS}
    patterns = [f"rsg:density={row['pattern'].removeprefix('δ = ')},seed=1" for row in rows]
    plans = [
        _creation_plans(machine_of[row["cluster"]], int(row["gcds"]) // _GCDS, pattern, row["best"])
        for row, pattern in zip(rows, patterns, strict=True)
    ]
    made = []
    for row, pattern, planned in zip(rows, patterns, points.run_all(plans), strict=True):
        registration = machines.read(machine_of[row["cluster"]]).registration
        assert registration is not None
        incoming = Counter(destination for _, destination in _edges(pattern, int(row["gcds"])))
        made.append(Creation(row, max(incoming.values()), int(number(planned[0], "staging_bytes_max") or 0), registration))
    return made


def creation_parts(table: Path) -> list[Part]:
    """What is registered, what that takes, and how many exchanges earn it, with and without."""
    lines = []
    for row in results.read_csv(table, _CREATION_COLUMNS):
        once = float(row["creation_s"]) + float(row["init_s"])
        staging, gain = float(row["staging_s"]), float(row["direct_s"]) - float(row["simulated_s"])
        buffers = (1 + int(row["edges"])) * int(row["bytes"])
        lines.append(
            (
                f"{row['cluster']}, {row['gcds']} GCDs, {row['pattern']}, `{row['strategy']}`",
                f"{1e3 * once:.1f}",
                f"{1e3 * float(row['buffers_s']):.1f} ({buffers >> 20} MiB)",
                f"{1e3 * staging:.1f} ({int(row['staging_bytes']) >> 20} MiB)",
                f"{1e3 * gain:.1f}",
                *(f"{cost / gain:.2f}" if gain > 0 else "never" for cost in (once, once + staging)),
            )
        )
    columns = (
        *("graph and strategy", "creation and init, ms", "registers buffers of the call, ms", "memory for relaying, ms"),
        *("an exchange saves, ms", "exchanges that earn creation and init", "and registration"),
    )
    return [Part("Registration, blocks of 8 MiB", columns, tuple(lines))]


def creation(output: Path, console: Console, *, quick: bool = False) -> None:
    """What creation takes with registration of memory, and how many exchanges earn it; all of it, also if ``quick``."""
    table = output / "rocm-creation.csv"
    results.write_csv(table, [one.row() for one in creations(measured.committed("rocm.csv"))])
    measured.show(console, creation_parts(table))
    console.print(str(table))


def _largest(rows: Iterable[Mapping[str, str]], column: str) -> str:
    """Over sizes; a dash where nothing was simulated."""
    return max((f"{float(row[column]):.2f}" for row in rows if row[column]), key=float, default="-")


def _compared(rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Of one graph: the paper's own algorithm, what ``auto`` chooses, and the best of ours where it is ahead most."""
    top = max(rows, key=lambda row: float(row["speedup"]))
    best = f"{float(top['speedup']):.2f}, `{top['best']}`, {size_text(int(top['bytes']))}"
    bound = f"{float(top['bound']):.2f}" if top["bound"] else "-"
    return _largest(rows, "leader_scatter"), _largest(rows, "auto"), best, bound


def _published(figure: str, gcds: int, pattern: str) -> str:
    if (figure, gcds, pattern) in _PUBLISHED_AT:
        return f"{_PUBLISHED_AT[figure, gcds, pattern]:.2f}"
    by_density = {(own, count) for own, count, _ in _PUBLISHED_AT}
    known = _PUBLISHED.get((figure, gcds // _GCDS))
    return f"up to {known:.2f}" if known and (figure, gcds) not in by_density else "-"


def parts(table: Path) -> list[Part]:
    """Largest speedups over sizes at equal densities, and of each other graph."""
    rows = results.read_csv(table, ("figure", "cluster", "gcds", "pattern", "bytes", "best", "speedup", "leader_scatter", "auto", "bound"))
    titles = {"7": "Figure 7, cluster A", "8": "Figure 8, cluster B"}
    others = "Other figures"
    found: dict[str, list[tuple[str, ...]]] = {title: [] for title in (*titles.values(), others)}
    for key in dict.fromkeys((row["figure"], row["gcds"], row["pattern"]) for row in rows):
        figure, gcds, pattern = key
        own = [row for row in rows if (row["figure"], row["gcds"], row["pattern"]) == key]
        what = f"{gcds} GCDs, {pattern}" if figure in titles else f"{figure}: {own[0]['cluster']}, {gcds} GCDs, {pattern}"
        found[titles.get(figure, others)].append((what, _published(figure, int(gcds), pattern), *_compared(own)))
    columns = ("graph", "published", "`leader_scatter`", "`auto`", "best of ours", "bound there")
    return [*(Part(title, columns, tuple(own)) for title, own in found.items() if own), *_product_parts(rows)]


def _product_parts(rows: Sequence[Mapping[str, str]]) -> list[Part]:
    """Figure 11 as the source has it, with creation and product."""
    own = tuple(
        (
            row["pattern"],
            f"{1e6 * float(row['direct_s']):.0f}",
            f"{1e6 * float(row['product_s']):.1f}",
            f"{float(row['speedup']):.2f}",
            *(f"{float(row[_with_product(count)]):.2f}" for count in _PRODUCTS),
        )
        for row in rows
        if row.get("product_s")
    )
    with_all = (f"{count} with product, creation and init" for count in _PRODUCTS)
    columns = ("matrix", "direct exchange, µs", "product, µs", "speedup of the exchange", *with_all)
    return [Part("Figure 11, creation and product included", columns, own)] if own else []


def draw(table: Path, output: Path) -> list[Path]:
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
        draw_lines(values, "bytes of a block", "times as fast as direct (higher is better)", output / f"{name}.svg", reference=1)
        for name, values in drawn
        if values
    ]


def rocm(output: Path, console: Console, *, quick: bool = False) -> None:
    """Random sparse graphs, Moore neighborhoods and SpMM on the two clusters of the paper."""
    cases = _cases(quick)
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
    console.print(", ".join(map(str, [path, *draw(path, output)])))
