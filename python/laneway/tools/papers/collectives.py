"""``laneway reproduce dense``: algorithms of all-to-all and allreduce by size, on simulated clusters as in the talks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway.tools.draw import style
from laneway.tools.draw.lines import Value, draw_lines
from laneway.tools.measure import results
from laneway.tools.measure.results import Record, number, rounded
from laneway.tools.papers import points
from laneway.tools.papers.points import Point
from laneway.tools.places import machines
from laneway.tools.places.places import Simulated

_ALLTOALL_SIZES = (4, 16, 64, 256, 1024, 4096)
_ALLREDUCE_SIZES = (8, 128, 2048, 32768, 524_288)
_FEW = 2  # sizes of a quick run


@dataclass(frozen=True)
class Figure:
    """An operation on a machine, by size."""

    machine: str
    nodes: int
    ranks_of_node: int
    operation: str
    sizes: Sequence[int]

    @property
    def title(self) -> str:
        return f"{self.operation}, {self.machine}, {self.nodes} x {self.ranks_of_node} ranks"

    def points(self) -> list[Point]:
        """One run for each size: they are simulated side by side."""
        goodput = f"{1 / machines.read(self.machine).injection_beta:g}"
        arguments = ("dense", "--op", self.operation, "--candidate", "mpi,laneway:*", "--iterations", "1", "--goodput", goodput)
        place = Simulated(self.machine, self.nodes, self.ranks_of_node)
        return [Point(place, (*arguments, "--bytes", str(size))) for size in self.sizes]


#: "Scaling Results (Dane, 32 Nodes)" and "Optimizing GPU-Aware Allreduce Operations" (DeltaAI) of the talks.
FIGURES = (
    Figure("dane-like", 32, 16, "alltoall", _ALLTOALL_SIZES),
    Figure("dane-like", 32, 16, "allreduce", _ALLREDUCE_SIZES),
    Figure("deltaai-like", 16, 4, "allreduce", _ALLREDUCE_SIZES),
)


def figures(*, quick: bool) -> list[Figure]:
    """All of them; ``quick``: on an eighth of the nodes, two sizes of each."""
    if not quick:
        return list(FIGURES)
    return [Figure(f.machine, f.nodes // 8, f.ranks_of_node, f.operation, f.sizes[:_FEW]) for f in FIGURES]


@dataclass(frozen=True)
class Found:
    """The virtual time of an algorithm at a size."""

    figure: Figure
    bytes: int
    candidate: str
    chosen: str
    seconds: float

    def row(self) -> dict[str, object]:
        return {
            "machine": self.figure.machine,
            "nodes": self.figure.nodes,
            "ranks": self.figure.nodes * self.figure.ranks_of_node,
            "op": self.figure.operation,
            "bytes": self.bytes,
            "candidate": self.candidate,
            "chosen": self.chosen,
            "simulated_s": rounded(self.seconds),
        }


def found_in(figure: Figure, records: Iterable[Record]) -> list[Found]:
    """The blocking candidates of the records; simulated, persistent ones take as long."""
    found = []
    for record in records:
        candidate, seconds = str(record["candidate"]), number(record, "median_s")
        if seconds is not None and not candidate.endswith(":persistent"):
            found.append(Found(figure, int(number(record, "bytes") or 0), candidate, str(record["chosen"] or ""), seconds))
    return found


def regret(found: Sequence[Found]) -> float:
    """Of one size: the time of ``auto`` over that of the fastest, whatever it is."""
    auto = next(one.seconds for one in found if one.candidate == "auto")
    return auto / min(one.seconds for one in found)


def _print(console: Console, figure: Figure, found: Sequence[Found]) -> None:
    table = Table(title=f"{figure.title}: µs")
    sizes = list(dict.fromkeys(one.bytes for one in found))
    for column in ("algorithm", *map(str, sizes)):
        table.add_column(column, justify="left" if column == "algorithm" else "right")
    times = {(one.candidate, one.bytes): one for one in found}
    for candidate in dict.fromkeys(one.candidate for one in found):
        cells = [times.get((candidate, size)) for size in sizes]
        table.add_row(candidate, *("-" if cell is None else f"{1e6 * cell.seconds:.1f}" for cell in cells))
    table.add_row("auto chose", *(times["auto", size].chosen for size in sizes))
    table.add_row("auto / fastest", *(f"{regret([one for one in found if one.bytes == size]):.3f}" for size in sizes))
    console.print(table)


def draw(table: Path, output: Path) -> list[Path]:
    """The pictures of what ``dense`` has written, into a folder: an operation on a machine is a panel."""
    rows = results.read_csv(table, ("machine", "nodes", "ranks", "op", "bytes", "candidate", "simulated_s"))
    made = []
    for operation in dict.fromkeys(row["op"] for row in rows):
        values = [
            Value(f"{row['machine']}, {row['nodes']} nodes", row["candidate"], float(row["bytes"]), float(row["simulated_s"]))
            for row in rows
            if row["op"] == operation
        ]
        path = output / f"dense-{operation}.svg"
        made.append(draw_lines(values, "bytes", f"{operation}, simulated", path, y_text=style.seconds_text, logarithmic=True))
    return made


def dense(output: Path, console: Console, *, quick: bool = False) -> None:
    """Virtual times of all-to-all and allreduce by size and algorithm, and what ``auto`` chose."""
    wanted = figures(quick=quick)
    runs = [(figure, point) for figure in wanted for point in figure.points()]
    records = points.run_all([point for _, point in runs])
    found = [one for (figure, _), some in zip(runs, records, strict=True) for one in found_in(figure, some)]
    for figure in wanted:
        _print(console, figure, [one for one in found if one.figure == figure])
    table = output / "dense.csv"
    results.write_csv(table, [one.row() for one in found])
    console.print(", ".join(map(str, [table, *draw(table, output)])))
