"""``laneway reproduce``: figures of papers on simulated clusters, and how far simulations can be trusted."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway_tools.measure import results, validate
from laneway_tools.measure.results import Record, number, rounded
from laneway_tools.papers import (
    channels,
    clusters,
    collectives,
    discovery,
    heterogeneous,
    losses,
    measured,
    multigrid,
    points,
    repeated,
    rocm,
    scale,
    sources,
)
from laneway_tools.papers.points import Point
from laneway_tools.places import talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root
from laneway_tools.places.places import Simulated

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


_FIGURES: dict[str, Callable[..., None]] = {
    "simulator": simulator,
    "rocm": rocm.rocm,
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
    "point-to-point": repeated.point_to_point,
    "rocm-creation": rocm.creation,
    "dense-model": collectives.model,
}
_SOURCES = "sources"
_LOSSES = "losses"
FIGURES = (*_FIGURES, _SOURCES, _LOSSES)
#: From a table of the figure to pictures in a folder.
_DRAWN: dict[str, Callable[[Path, Path], list[Path]]] = {
    "rocm": rocm.draw,
    "hypre": multigrid.draw,
    "lassen": heterogeneous.draw,
    "scale": scale.draw,
    "dense": collectives.draw,
    "discovery": discovery.draw,
    "finders": discovery.draw_finders,
    "channels": channels.draw,
    "collectives": clusters.draw_collectives,
    "reductions": clusters.draw_reductions,
    "point-to-point": repeated.draw,
}
#: Page of results, and from a table of the figure to the page's tables.
_PAGES: dict[str, tuple[str, Callable[[Path], list[measured.Part]]]] = {
    "rocm": ("rocm.md", rocm.parts),
    "rocm-creation": ("rocm.md", rocm.creation_parts),
    "dense": ("collectives.md", collectives.parts),
    "dense-model": ("collectives.md", collectives.model_parts),
    "collectives": ("collectives.md", clusters.collectives_parts),
    "reductions": ("reductions.md", clusters.reductions_parts),
    "discovery": ("discovery.md", discovery.parts),
    "finders": ("discovery.md", discovery.finders_parts),
    "point-to-point": ("point-to-point.md", repeated.parts),
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
    if figure == _LOSSES:
        talk.console().print("\n".join(str(page) for page in losses.write()) or "all pages have their tables")
        return
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
        draw = _DRAWN.get(figure, lambda _table, _output: [])
        measured.keep(table, f"{figure}.csv", root() / "docs" / "results" / page, parts, draw, talk.console())
        losses.write()
