"""``laneway reproduce collectives`` and ``reductions``: measured here, on emulated clusters, beside the MPI library's own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway_tools.measure import results
from laneway_tools.measure.results import Record, number, rounded
from laneway_tools.papers import points
from laneway_tools.places import launch
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_program, root
from laneway_tools.places.places import Cluster, parse_place

_MPI = "openmpi"
_OWN = ("mpi", "mpi-again", "mpi:*", "auto", "auto:persistent")
_FEW_OWN = ("mpi", "mpi:*", "auto")


@dataclass(frozen=True)
class Measurement:
    """One run of laneway-bench in a place; ``parameters``: a machine file, where there is one of the place."""

    place: str
    arguments: tuple[str, ...]
    parameters: str = ""
    ranks: int | None = None

    @property
    def size(self) -> int:
        """How many ranks it has."""
        place = parse_place(self.place)
        return self.ranks or (place.ranks if isinstance(place, Cluster) else 0)

    def key(self) -> str:
        """Of the program, its library and what it is told; so a second call measures what is missing."""
        program = Path(find_program("laneway-bench", _MPI))
        library = program.parents[1] / "src" / "liblaneway.so"
        files = [path.read_bytes() for path in (program, library) if path.is_file()]
        return points.digest(repr((self.place, self.arguments, self.parameters, self.ranks)).encode(), *files)

    def run(self, kept: Path) -> list[Record]:
        """The records, which are also those in ``kept`` from now on."""
        variables = {"LANEWAY_PARAMETERS": self.parameters} if self.parameters else {}
        with tempfile.TemporaryDirectory(dir=kept.parent) as directory:
            records, log = Path(directory) / "records.jsonl", Path(directory) / "log"
            command = ["laneway-bench", *self.arguments, "--json", str(records)]
            with log.open("wb") as output:
                status = launch.run(launch.Job(command, parse_place(self.place), self.ranks, _MPI, variables), output)
            if status != 0:
                tail = "\n".join(log.read_text(errors="replace").splitlines()[-10:])
                raise UserError(f"{self.place}: {' '.join(self.arguments)} ended with status {status}:\n{tail}", 1)
            records.replace(kept)
        return results.read(kept)


def _dense(operations: str, sizes: str, iterations: int, candidates: Sequence[str] = _OWN) -> tuple[str, ...]:
    return ("dense", "--op", operations, "--bytes", sizes, "--iterations", str(iterations), "--candidate", ",".join(candidates))


#: Place and machine file.
CLUSTERS = {
    "cluster:4x4@200mbit": "cluster-4x4-200mbit",
    "cluster:2x8@1gbit": "cluster-2x8-1gbit",
    "cluster:5,3,8@200mbit": "cluster-4x4-200mbit",
}
_NODE_RANKS = 8
#: Long calls are tried in the eighth.
_AFTER_TRIAL = ("--warmup", "8")
_SHORT = "alltoall,alltoallv,allgather,allreduce,bcast,reduce,reduce_scatter,barrier"


def collectives_runs(*, quick: bool = False) -> list[Measurement]:
    """Dense operations by size on every cluster and on one node; ``quick``: short ones on the first cluster."""
    few = list(CLUSTERS.items())[: 1 if quick else None]
    runs = [Measurement(place, _dense(_SHORT, "8,64,1024", 15), file) for place, file in few]
    if quick:
        return runs
    for place, file in few:
        runs += [
            Measurement(place, _dense("allgather,allreduce,bcast,reduce,reduce_scatter", "4096", 15), file),
            Measurement(place, (*_dense("bcast,reduce", "8,64,1024,4096", 15), "--in-a-row"), file),
            Measurement(place, (*_dense("alltoall,allgather", "16384,131072", 5, _FEW_OWN), *_AFTER_TRIAL), file),
            Measurement(place, _dense("allreduce,bcast,reduce", "65536", 5, _FEW_OWN), file),
            Measurement(place, _dense("allreduce,bcast,reduce", "1048576", 3, _FEW_OWN), file),
        ]
    local = _dense("allreduce,bcast,allgather,barrier", "8,1024,4096,65536", 20)
    windows = _dense("alltoallv", "64,4096,65536", 20, ("mpi", "auto", "rma:*"))
    long_windows = _dense("alltoallv", "33554432", 3, ("mpi", "auto", "rma:*"))  # gigabytes on eight ranks
    runs += [Measurement("local", local, ranks=_NODE_RANKS), Measurement("local", windows, ranks=_NODE_RANKS)]
    return [*runs, Measurement("local", long_windows, ranks=_NODE_RANKS // 2)]


def reductions_runs(*, quick: bool = False) -> list[Measurement]:
    """Halos backwards on the first cluster: random sparse graphs by size and a transposed product; ``quick``: one size."""
    place, file = next(iter(CLUSTERS.items()))
    sizes = "262144" if quick else "1024,16384,262144"
    graph = ("reduce", "--op", "allgather", "--pattern", "rsg:density=0.6,seed=1", "--bytes", sizes)
    product = ("reduce", "--op", "alltoallv", "--pattern", "matrix:delaunay:n=131072,seed=1", "--bytes", "8")
    return [
        Measurement(place, (*graph, "--strategy", "three_step,auto"), file),
        Measurement(place, (*product, "--strategy", "direct,three_step,auto"), file),
    ]


def measure(runs: Sequence[Measurement]) -> list[tuple[Measurement, list[Record]]]:
    """One after the other: each has all processors."""
    return list(zip(runs, points.run_all(runs, jobs=1), strict=True))


# Tables


def _text(record: Mapping[str, object], key: str) -> str:
    value = number(dict(record), key)
    return "" if value is None else rounded(value)


def collectives_rows(place: str, records: Iterable[Record]) -> list[dict[str, object]]:
    """What the page says: MPI's default twice, the best of its algorithms, and this library's."""
    rows = []
    for record in records:
        name, best = str(record["candidate"]), record.get("best_of_mpi")
        if not (name in _OWN or name == best or name.startswith("rma:")):
            continue
        rows.append(
            {
                "place": place,
                "op": record["op"],
                "bytes": record["bytes"],
                "candidate": name,
                "chosen": record.get("chosen") or "",
                "best_of_mpi": best or "",
                "median_s": _text(record, "median_s"),
                "ratio_vs_best_of_mpi": _text(record, "ratio_vs_best_of_mpi"),
                "limit_fraction": _text(record, "limit_fraction"),
            }
        )
    return rows


def reductions_rows(place: str, records: Iterable[Record]) -> list[dict[str, object]]:
    """Of every candidate: its time and what it moves."""
    return [
        {
            "place": place,
            "op": record["op"],
            "pattern": record["pattern"],
            "bytes": record["bytes"],
            "candidate": record["candidate"],
            "chosen": record.get("chosen") or "",
            "median_s": _text(record, "median_s"),
            "speedup_vs_mpi": _text(record, "speedup_vs_mpi"),
            "limit_fraction": _text(record, "limit_fraction"),
            "net_messages_total": record["net_messages_total"],
            "net_bytes_total": record["net_bytes_total"],
        }
        for record in records
    ]


# Pages


@dataclass(frozen=True)
class Part:
    """A table of a page."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        lines = [f"{self.title}:", "", "| " + " | ".join(self.columns) + " |", "| --- |" + " ---: |" * (len(self.columns) - 1)]
        return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in self.rows)])

    def rich(self) -> Table:
        table = Table(title=self.title)
        for number_, column in enumerate(self.columns):
            table.add_column(column, justify="right" if number_ else "left")
        for row in self.rows:
            table.add_row(*row)
        return table


def show(console: Console, parts: Iterable[Part]) -> None:
    for part in parts:
        console.print(part.rich())


_BEGIN, _END = "<!-- tables of {} -->", "<!-- end of tables of {} -->"


def with_tables(page: str, table: str, parts: Iterable[Part]) -> str:
    """The page with its tables of this CSV file made anew. A UserError where it has no place for them."""
    begin, end = _BEGIN.format(table), _END.format(table)
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise UserError(f"the page has no '{begin}' with '{end}' after it")
    return "".join([head, begin, "\n\n", "\n\n".join(part.markdown() for part in parts), "\n\n", end, tail])


def committed(name: str) -> Path:
    """The table of this name in the repository, whose folders are subjects."""
    (table,) = (root() / "bench" / "results").glob(f"*/{name}")
    return table


def keep(
    made: Path, name: str, page: Path, parts: Callable[[Path], list[Part]], draw: Callable[[Path, Path], list[Path]], console: Console
) -> None:
    """The table that was made becomes that of the repository, and its page and pictures follow."""
    table = committed(name)
    table.write_bytes(made.read_bytes())
    page.write_text(with_tables(page.read_text(encoding="utf-8"), table.name, parts(table)), encoding="utf-8")
    drawn = draw(table, root() / "docs" / "pictures")
    console.print("kept: " + ", ".join(str(path.relative_to(root())) for path in (table, page, *drawn)))
