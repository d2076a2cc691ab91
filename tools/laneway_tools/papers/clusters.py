"""Tables and pictures of what ``laneway reproduce collectives`` and ``reductions`` have measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from laneway_tools.draw import style
from laneway_tools.draw.lines import Value, draw_lines
from laneway_tools.measure import results
from laneway_tools.papers import measured
from laneway_tools.papers.measured import Part

_COLLECTIVES = ("place", "op", "bytes", "candidate", "chosen", "best_of_mpi", "median_s", "ratio_vs_best_of_mpi", "limit_fraction")
_REDUCTIONS = (
    "place",
    "op",
    "pattern",
    "bytes",
    "candidate",
    "chosen",
    "median_s",
    "limit_fraction",
    "net_messages_total",
    "net_bytes_total",
)
Row = Mapping[str, str]
Case = dict[str, Row]  # by candidate


def _cases(rows: Sequence[Row], keys: Sequence[str]) -> dict[tuple[str, ...], Case]:
    found: dict[tuple[str, ...], Case] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), {})[row["candidate"]] = row
    return found


def _digits(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _microseconds(row: Row | None) -> str:
    return f"{1e6 * float(row['median_s']):.0f}" if row and row["median_s"] else "-"


def speedup(case: Case, candidate: str) -> float | None:
    """Over the best of MPI's: its time by that of the candidate."""
    row = case.get(candidate)
    ratio = row["ratio_vs_best_of_mpi"] if row else ""
    return 1 / float(ratio) if ratio else None


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _is_of_windows(case: Case) -> bool:
    return any(name.startswith("rma:") for name in case)


def _collectives_summary(cases: Mapping[tuple[str, ...], Case]) -> Part:
    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for (place, operation, size), case in cases.items():
        found = speedup(case, "auto")
        if found is not None and not _is_of_windows(case):
            groups.setdefault((operation, place), []).append((int(size), found))
    places = list(dict.fromkeys(place for _, place in groups))
    rows = []
    for operation in dict.fromkeys(operation for operation, _ in groups):
        cells = [operation]
        for place in places:
            values = [value for _, value in groups.get((operation, place), [])]
            cells.append(f"{geometric_mean(values):.2f} ({min(values):.2f})" if values else "-")
        rows.append(tuple(cells))
    return Part("Speedup of `auto` over the best of MPI's, geometric mean over sizes (the least)", ("operation", *places), tuple(rows))


def _collectives_of(place: str, cases: Mapping[tuple[str, ...], Case]) -> Part:
    rows = []
    operations = list(dict.fromkeys(operation for _, operation, _ in cases))
    for (where, operation, size), case in sorted(cases.items(), key=lambda item: (operations.index(item[0][1]), int(item[0][2]))):
        if where != place or "auto" not in case or _is_of_windows(case):
            continue
        auto, best = case["auto"], case["auto"]["best_of_mpi"]
        again = case.get("mpi-again")
        noise = float(again["median_s"]) / float(case["mpi"]["median_s"]) if again and "mpi" in case else None
        limit = float(auto["limit_fraction"]) if auto["limit_fraction"] else None
        chosen = auto["chosen"] or case.get("auto:persistent", {}).get("chosen", "")
        cells = (f"{operation}, {int(size):,} B" if int(size) else operation, best.removeprefix("mpi:"), _microseconds(case.get(best)))
        cells += (_microseconds(auto), _digits(speedup(case, "auto")), _digits(speedup(case, "auto:persistent")))
        rows.append((*cells, _digits(noise), _digits(limit), chosen or "-"))
    columns = ("operation", "best of MPI's", "µs", "`auto` µs", "speedup", "persistent", "MPI again", "of the limit", "rule")
    return Part(f"`{place}`", columns, tuple(rows))


def _windows(cases: Mapping[tuple[str, ...], Case]) -> list[Part]:
    rows = [
        (f"{place}, {operation}, {int(size):,} B", *(_microseconds(case.get(name)) for name in _windows_names(cases)))
        for (place, operation, size), case in cases.items()
        if _is_of_windows(case)
    ]
    return [Part("All-to-all by windows, µs", ("where", *_windows_names(cases)), tuple(rows))] if rows else []


def _windows_names(cases: Mapping[tuple[str, ...], Case]) -> list[str]:
    own = [case for case in cases.values() if _is_of_windows(case)]
    return list(dict.fromkeys(name for case in own for name in case))


def collectives_parts(table: Path) -> list[Part]:
    """What the page of results says of a table."""
    cases = _cases(results.read_csv(table, _COLLECTIVES), ("place", "op", "bytes"))
    places = dict.fromkeys(place for place, *_ in cases)
    return [_collectives_summary(cases), *(_collectives_of(place, cases) for place in places), *_windows(cases)]


def draw_collectives(table: Path, output: Path) -> list[Path]:
    """Speedup of ``auto`` over the best of MPI's by size; a place is a panel."""
    cases = _cases(results.read_csv(table, _COLLECTIVES), ("place", "op", "bytes"))
    values = [
        Value(place, operation, float(size), found)
        for (place, operation, size), case in cases.items()
        if int(size) and not _is_of_windows(case) and (found := speedup(case, "auto")) is not None
    ]
    path = output / "collectives.svg"
    return [draw_lines(values, "bytes of a block or vector", "best of MPI's ÷ auto (higher is better)", path, reference=1)]


def collectives(output: Path, console: Console, *, quick: bool = False) -> None:
    """Measure dense operations here, on emulated clusters and on one node, against the MPI library's algorithms."""
    found = measured.measure(measured.collectives_runs(quick=quick))
    rows = [row for run, records in found for row in measured.collectives_rows(run.place, records)]
    table = output / "collectives.csv"
    results.write_csv(table, rows)
    measured.show(console, collectives_parts(table))
    console.print(", ".join(map(str, [table, *draw_collectives(table, output)])))


def reductions_parts(table: Path) -> list[Part]:
    """What the page of results says of a table: a table a pattern and size."""
    cases = _cases(results.read_csv(table, _REDUCTIONS), ("place", "op", "pattern", "bytes"))
    parts = []
    for (place, operation, pattern, size), case in cases.items():
        loop = case.get("mpi", case.get("p2p"))
        rows = []
        for name, row in case.items():
            ratio = float(loop["median_s"]) / float(row["median_s"]) if loop else None
            forward = case.get(f"forward:{name}")
            against = float(row["median_s"]) / float(forward["median_s"]) if forward else None
            limit = float(row["limit_fraction"]) if row["limit_fraction"] else None
            cells = (f"`{name}`" + (f" ({row['chosen']})" if row["chosen"] else ""), _microseconds(row), _digits(ratio), _digits(against))
            rows.append((*cells, _digits(limit), row["net_messages_total"], row["net_bytes_total"]))
        columns = ("candidate", "µs", "speedup", "÷ forward", "of the limit", "network messages", "network bytes")
        parts.append(Part(f"`{place}`, {operation}, `{pattern}`, {int(size):,} B", columns, tuple(rows)))
    return parts


def draw_reductions(table: Path, output: Path) -> list[Path]:
    """Times by size of random sparse graphs."""
    rows = results.read_csv(table, _REDUCTIONS)
    values = [
        Value(f"{row['pattern']}, {row['place']}", row["candidate"], float(row["bytes"]), float(row["median_s"]))
        for row in rows
        if row["pattern"].startswith("rsg:") and row["median_s"]
    ]
    path = output / "reductions.svg"
    return [draw_lines(values, "bytes of a block", "time (lower is better)", path, y_text=style.seconds_text, logarithmic=True)]


def reductions(output: Path, console: Console, *, quick: bool = False) -> None:
    """Measure reductions over neighbours here, beside the loop that programs have and the exchange forwards."""
    found = measured.measure(measured.reductions_runs(quick=quick))
    rows = [row for run, records in found for row in measured.reductions_rows(run.place, records)]
    table = output / "reductions.csv"
    results.write_csv(table, rows)
    measured.show(console, reductions_parts(table))
    console.print(", ".join(map(str, [table, *draw_reductions(table, output)])))
