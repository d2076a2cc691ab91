"""``laneway reproduce point-to-point``: programs that send messages themselves, with LANEWAY_P2P and without, on emulated clusters."""

from __future__ import annotations

import re
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from laneway_tools.measure import results
from laneway_tools.measure.results import rounded
from laneway_tools.papers import measured
from laneway_tools.papers.measured import Part
from laneway_tools.places import launch
from laneway_tools.places.errors import UserError
from laneway_tools.places.places import parse_place

_CLUSTERS = ("cluster:4x4@200mbit", "cluster:4x4@1gbit")
_SIZES = (64, 256, 1024, 4096)
_COLUMNS = ("place", "program", "bytes", "plain_s", "laneway_s", "ratio", "messages_before", "messages_after", "bundles", "same")
_REPORT = re.compile(r"messages of (\d+) streams between nodes went in (\d+) bundles.*: (\d+) messages between nodes instead of (\d+)")
_TIME = re.compile(r"^time ([0-9.]+) us$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """What is run; its lines that start with ``time`` may differ. ``timed``: by itself."""

    name: str
    bytes: int
    command: tuple[str, ...]
    timed: bool = True


def programs(*, quick: bool = False) -> list[Program]:
    """Halos of 27 points by size, partners that change, PETSc and hypre."""
    rounds = "150"
    halos = [Program(kind, size, ("laneway-halo", kind, str(size), rounds)) for kind in ("nonblocking", "persistent") for size in _SIZES]
    if quick:
        return halos[:1]
    reproducible = ("-matstash_legacy", "-matstash_reproduce", "-matptap_via", "allatonce")
    solve = ("laneway-petsc-solve", "-n", "24", "-dimensions", "3", "-repeat", "2", "-products", "100", "-history", *reproducible)
    return [
        *halos,
        Program("irregular", 1024, ("laneway-halo", "irregular", "1024", rounds)),
        Program("PETSc", 0, solve, timed=False),
        Program("hypre", 0, ("laneway-hypre-solve", "--history", "--problem", "27pt", "--n", "24"), timed=False),
    ]


def _run(program: Program, place: str, *, takes: bool) -> str:
    variables = {"LANEWAY_P2P": "1"} if takes else {}
    with tempfile.NamedTemporaryFile() as log:
        job = launch.Job(program.command, parse_place(place), None, "openmpi", variables, 110, preload=takes)
        with open(log.name, "wb") as output:
            status = launch.run(job, output)
        text = Path(log.name).read_text(errors="replace")
    if status != 0:
        raise UserError(f"{place}: {' '.join(program.command)} ended with status {status}:\n{text[-2000:]}", 1)
    return text


def _results(text: str) -> list[str]:
    """What must be the same, but for what is said of times and by the library."""
    return [line for line in text.splitlines() if not line.startswith(("time", "laneway: "))]


def compare(program: Program, place: str, times: int) -> dict[str, object]:
    """A row: each way so many times, in turns."""
    texts: dict[bool, list[str]] = {False: [], True: []}
    for turn in range(times if program.timed else 1):
        for takes in (False, True) if turn % 2 == 0 else (True, False):
            texts[takes].append(_run(program, place, takes=takes))
    seconds = {}
    for takes, said in texts.items():
        found = [float(match[1]) / 1e6 for text in said if (match := _TIME.search(text))]
        seconds[takes] = statistics.median(found) if program.timed else None
    report = _REPORT.search(texts[True][0])
    streams, bundles, after, before = (int(value) for value in report.groups()) if report else (0, 0, 0, 0)
    plain, taken = seconds[False], seconds[True]
    return {
        "place": place,
        "program": program.name,
        "bytes": program.bytes or "",
        "plain_s": rounded(plain) if plain else "",
        "laneway_s": rounded(taken) if taken else "",
        "ratio": f"{plain / taken:.3f}" if plain and taken else "",
        "messages_before": before,
        "messages_after": after if streams else before,
        "bundles": bundles,
        "same": "yes" if _results(texts[False][0]) == _results(texts[True][0]) else "no",
    }


def parts(table: Path) -> list[Part]:
    """What the page of results says of a table."""
    rows = results.read_csv(table, _COLUMNS)
    found = []
    for place in dict.fromkeys(row["place"] for row in rows):
        cells = [
            (
                f"{row['program']}{', ' + row['bytes'] + ' B' if row['bytes'] else ''}",
                f"{float(row['plain_s']) * 1e6:.0f}" if row["plain_s"] else "",
                f"{float(row['laneway_s']) * 1e6:.0f}" if row["laneway_s"] else "",
                row["ratio"],
                row["messages_before"],
                row["messages_after"],
                row["same"],
            )
            for row in rows
            if row["place"] == place
        ]
        columns = ("program", "MPI alone, µs", "Laneway, µs", "speedup", "messages before", "messages after", "same results")
        found.append(Part(f"`{place}`", columns, tuple(cells)))
    return found


def draw(_table: Path, _output: Path) -> list[Path]:
    """There is no picture."""
    return []


def point_to_point(output: Path, console: Console, *, quick: bool = False) -> None:
    """Measure here, both ways in turns."""
    places: Sequence[str] = _CLUSTERS[: 1 if quick else None]
    rows = [compare(program, place, 1 if quick else 3) for place in places for program in programs(quick=quick)]
    table = output / "point-to-point.csv"
    results.write_csv(table, rows)
    measured.show(console, parts(table))
    console.print(str(table))
