"""``laneway reproduce discovery`` and ``finders``: finding partners that one side knows, by ranks on a simulated cluster, and
measured here on emulated ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from laneway_tools.draw import style
from laneway_tools.draw.lines import Value, draw_lines
from laneway_tools.measure import results
from laneway_tools.measure.results import Record, number, rounded
from laneway_tools.papers import clusters, measured, points
from laneway_tools.papers.measured import Measurement, Part
from laneway_tools.papers.points import Point
from laneway_tools.places.places import Simulated

_MACHINE = "frontier-like"
_RANKS_OF_NODE = 8
_NODES = (32, 64, 128, 256)
_FEW_NODES = 1  # of a quick run
_DEGREES = (8, 26)
_SIZES = (8, 64)
_AUTO = "laneway auto"
_FINDERS_UP_TO = 32  # nodes; on more, what `auto` leaves takes minutes to simulate and is far behind
_OF_MANY = (_AUTO, "nbx", "reduce_scatter")
_SIMULATED = ("machine", "ranks", "degree", "bytes", "candidate", "simulated_s")


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


def _named(nodes: int) -> tuple[str, ...]:
    return () if nodes <= _FINDERS_UP_TO else ("--candidates", ",".join(_OF_MANY))


def runs(*, quick: bool) -> list[Point]:
    """One for each number of nodes and degree."""
    nodes = _NODES[:_FEW_NODES] if quick else _NODES
    sizes = ",".join(map(str, _SIZES))
    return [
        Point(
            Simulated(_MACHINE, count, _RANKS_OF_NODE),
            ("discover", "--degree", str(degree), "--bytes", sizes, "--iterations", "1", *_named(count)),
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


def _times(table: Path) -> dict[tuple[int, int], list[Found]]:
    """What the table has, by degree and bytes."""
    cases: dict[tuple[int, int], list[Found]] = {}
    for row in results.read_csv(table, _SIMULATED):
        found = Found(int(row["ranks"]), int(row["degree"]), int(row["bytes"]), row["candidate"], float(row["simulated_s"]))
        cases.setdefault((found.degree, found.bytes), []).append(found)
    return cases


def growth(found: Sequence[Found]) -> float:
    """How many times as long ``auto`` takes on the most ranks as on the fewest."""
    times = {one.ranks: one.seconds for one in found if one.candidate == _AUTO}
    return times[max(times)] / times[min(times)]


def parts(table: Path) -> list[Part]:
    """What the page of results says of a table of ``discovery``."""
    made, growths = [], []
    for (degree, size), found in _times(table).items():
        counts = sorted({one.ranks for one in found})
        times = {(one.candidate, one.ranks): one.seconds for one in found}
        rows = [
            (candidate, *(f"{1e6 * times[candidate, count]:.1f}" if (candidate, count) in times else "-" for count in counts))
            for candidate in dict.fromkeys(one.candidate for one in found)
        ]
        best = tuple(f"{advantage([one for one in found if one.ranks == count]):.2f}" for count in counts)
        title = f"Degree {degree}, {size} bytes, simulated µs by ranks"
        made.append(Part(title, ("way", *(f"{count:,}" for count in counts)), (*rows, ("best of MPI ÷ `laneway auto`", *best))))
        growths.append((f"degree {degree}, {size} bytes", f"{counts[-1] / counts[0]:.0f}", f"{growth(found):.2f}"))
    columns = ("messages", "ranks, times", "`auto`, times")
    return [*made, Part("Growth from the fewest ranks to the most, at the same degree", columns, tuple(growths))]


def _drawn(candidate: str) -> str:
    """A name that tells what programs write with MPI from the finders."""
    return candidate if candidate.startswith(("laneway ", "MPI_")) else f"MPI: {candidate}"


def draw(table: Path, output: Path) -> list[Path]:
    """The picture of what ``discovery`` has written: a case is a panel."""
    rows = results.read_csv(table, _SIMULATED)
    values = [
        Value(f"degree {row['degree']}, {row['bytes']} bytes", _drawn(row["candidate"]), float(row["ranks"]), float(row["simulated_s"]))
        for row in rows
    ]
    path = output / "discovery.svg"
    return [draw_lines(values, "ranks", "simulated time of a round (lower is better)", path, y_text=style.seconds_text, logarithmic=True)]


def discovery(output: Path, console: Console, *, quick: bool = False) -> None:
    """Virtual times by ranks at a fixed degree, of Laneway's finders and of what programs write with MPI."""
    found = [one for records in points.run_all(runs(quick=quick)) for one in found_in(records)]
    table = output / "discovery.csv"
    results.write_csv(table, [one.row() for one in found])
    measured.show(console, parts(table))
    console.print(", ".join(map(str, [table, *draw(table, output)])))


# Measured

_MEASURED = ("place", "degree", "bytes", "candidate", "median_s", "ratio_to_auto", "ratio_low", "ratio_high")
_PLACES = ("cluster:4x4@200mbit", "cluster:2x8@1gbit")
_SHORT = 64  # bytes
_FINDERS = "laneway "


def finders_runs(*, quick: bool = False) -> list[Measurement]:
    """Finders on each cluster, by degree and size; ``quick``: short messages on the first."""
    sizes = "8,64" if quick else "8,64,1024,16384"
    arguments = ("discover", "--degree", "2,8,15", "--bytes", sizes, "--iterations", "20")
    return [Measurement(place, arguments, measured.CLUSTERS[place]) for place in _PLACES[: 1 if quick else None]]


def finders_rows(place: str, records: Iterable[Record]) -> list[dict[str, object]]:
    """Times, and ratios of pairs that were measured one after the other."""
    return [
        {"place": place, **{key: record[key] for key in ("degree", "bytes", "candidate")}}
        | {key: rounded(number(record, key) or 0) for key in _MEASURED[4:]}
        for record in records
    ]


def _finders_cases(table: Path) -> dict[tuple[str, int, int], dict[str, dict[str, str]]]:
    cases: dict[tuple[str, int, int], dict[str, dict[str, str]]] = {}
    for row in results.read_csv(table, _MEASURED):
        cases.setdefault((row["place"], int(row["degree"]), int(row["bytes"])), {})[row["candidate"]] = dict(row)
    return cases


def _least(case: dict[str, dict[str, str]], *, ours: bool) -> tuple[str, float]:
    """Of what programs write with MPI, or of the finders: the one with the least time by that of ``auto``, and that."""
    ratios = {name: float(row["ratio_to_auto"]) for name, row in case.items() if name != _AUTO and name.startswith(_FINDERS) == ours}
    best = min(ratios, key=lambda name: ratios[name])
    return best, ratios[best]


def finders_parts(table: Path) -> list[Part]:
    """What the page of results says of a table of ``finders``."""
    cases = _finders_cases(table)
    places = list(dict.fromkeys(place for place, *_ in cases))
    sizes = sorted({size for *_, size in cases})
    summary = []
    for place in places:
        ratios = {key: _least(case, ours=False)[1] for key, case in cases.items() if key[0] == place}
        groups = [[ratio for (*_, size), ratio in ratios.items() if size <= _SHORT]]
        groups += [[ratio for (*_, size), ratio in ratios.items() if size == one] for one in sizes if one > _SHORT]
        cells = (f"{clusters.geometric_mean(group):.2f} ({min(group):.2f})" for group in groups)
        summary.append((place, *cells))
    columns = ("where", f"up to {_SHORT} B", *(f"{size:,} B" for size in sizes if size > _SHORT))
    made = [Part("Best of MPI ÷ `auto`, geometric mean over degrees (the least)", columns, tuple(summary))]
    for place in places:
        rows = []
        for (where, degree, size), case in cases.items():
            if where != place:
                continue
            best, ratio = _least(case, ours=False)
            finder, own = _least(case, ours=True)
            times = (f"{1e6 * float(case[name]['median_s']):.0f}" for name in (_AUTO, best))
            names = (best, f"{ratio:.2f}", finder.removeprefix(_FINDERS), f"{own:.2f}")
            rows.append((f"{degree}, {size:,} B", *times, *names))
        columns = ("degree, bytes", "`auto` µs", "best µs", "best of MPI", "best ÷ `auto`", "fastest finder", "finder ÷ `auto`")
        made.append(Part(f"`{place}`", columns, tuple(rows)))
    return made


def draw_finders(table: Path, output: Path) -> list[Path]:
    """The best of what is written with MPI by ``auto``, by size; a cluster is a panel, a degree a line."""
    values = [
        Value(place, f"degree {degree}", float(size), _least(case, ours=False)[1])
        for (place, degree, size), case in _finders_cases(table).items()
    ]
    path = output / "finders.svg"
    return [draw_lines(values, "bytes of a message", "best of MPI ÷ auto (higher is better)", path, reference=1)]


def finders(output: Path, console: Console, *, quick: bool = False) -> None:
    """Measure finders here, on emulated clusters, beside what programs write with MPI."""
    found = measured.measure(finders_runs(quick=quick))
    table = output / "finders.csv"
    results.write_csv(table, [row for run, records in found for row in finders_rows(run.place, records)])
    measured.show(console, finders_parts(table))
    console.print(", ".join(map(str, [table, *draw_finders(table, output)])))
