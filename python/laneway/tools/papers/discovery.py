"""``laneway reproduce discovery``: finding partners that one side knows, by ranks, on a simulated cluster."""

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
from laneway.tools.places.places import Simulated

_MACHINE = "frontier-like"
_RANKS_OF_NODE = 8
_NODES = (32, 64, 128, 256)
_FEW_NODES = 1  # of a quick run
_DEGREES = (8, 26)
_SIZES = (8, 64)
_AUTO = "laneway auto"


@dataclass(frozen=True)
class Found:
    """The virtual time of one way to find partners."""

    ranks: int
    degree: int
    bytes: int
    candidate: str
    seconds: float

    @property
    def is_ours(self) -> bool:
        return self.candidate.startswith("laneway ")

    def row(self) -> dict[str, object]:
        return {
            "machine": _MACHINE,
            "ranks": self.ranks,
            "degree": self.degree,
            "bytes": self.bytes,
            "candidate": self.candidate,
            "simulated_s": rounded(self.seconds),
        }


def runs(*, quick: bool) -> list[Point]:
    """One for each number of nodes and degree."""
    nodes = _NODES[:_FEW_NODES] if quick else _NODES
    sizes = ",".join(map(str, _SIZES))
    return [
        Point(
            Simulated(_MACHINE, count, _RANKS_OF_NODE),
            ("discover", "--degree", str(degree), "--bytes", sizes, "--iterations", "1"),
        )
        for count in nodes
        for degree in _DEGREES
    ]


def found_in(records: Iterable[Record]) -> list[Found]:
    """What the records of ``laneway-bench discover`` say."""
    found = []
    for record in records:
        seconds = number(record, "median_s")
        if seconds is not None:
            ranks, degree, size = (int(number(record, key) or 0) for key in ("ranks", "degree", "bytes"))
            found.append(Found(ranks, degree, size, str(record["candidate"]), seconds))
    return found


def advantage(found: Sequence[Found]) -> float:
    """Of one case: the time of the fastest that is written with MPI, over that of ``auto``."""
    auto = next(one.seconds for one in found if one.candidate == _AUTO)
    return min(one.seconds for one in found if not one.is_ours) / auto


def _print(console: Console, found: Sequence[Found], degree: int, size: int) -> None:
    some = [one for one in found if (one.degree, one.bytes) == (degree, size)]
    counts = sorted({one.ranks for one in some})
    table = Table(title=f"degree {degree}, {size} bytes: µs by ranks")
    for column in ("way", *map(str, counts)):
        table.add_column(column, justify="left" if column == "way" else "right")
    times = {(one.candidate, one.ranks): one.seconds for one in some}
    for candidate in dict.fromkeys(one.candidate for one in some):
        table.add_row(candidate, *(f"{1e6 * times[candidate, count]:.1f}" for count in counts))
    table.add_row("best of MPI / auto", *(f"{advantage([one for one in some if one.ranks == count]):.2f}" for count in counts))
    console.print(table)


def draw(table: Path, output: Path) -> list[Path]:
    """The picture of what ``discovery`` has written: a case is a panel."""
    rows = results.read_csv(table, ("machine", "ranks", "degree", "bytes", "candidate", "simulated_s"))
    values = [
        Value(f"degree {row['degree']}, {row['bytes']} bytes", row["candidate"], float(row["ranks"]), float(row["simulated_s"]))
        for row in rows
    ]
    path = output / "discovery.svg"
    return [draw_lines(values, "ranks", "finding partners, simulated", path, y_text=style.seconds_text, logarithmic=True)]


def discovery(output: Path, console: Console, *, quick: bool = False) -> None:
    """Virtual times by ranks at a fixed degree, of Laneway's finders and of what programs write with MPI."""
    found = [one for records in points.run_all(runs(quick=quick)) for one in found_in(records)]
    for degree in _DEGREES:
        for size in _SIZES:
            _print(console, found, degree, size)
    table = output / "discovery.csv"
    results.write_csv(table, [one.row() for one in found])
    console.print(", ".join(map(str, [table, *draw(table, output)])))
