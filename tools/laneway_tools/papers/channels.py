"""Channels, messages in partitions and spmbv, measured here and on an emulated cluster: the tables of their results."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from laneway_tools.measure import results
from laneway_tools.measure.results import Record
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

_CLUSTER = "cluster:4x4@200mbit"
_THREADED = "cluster:8x2@200mbit"
_MATRIX = "delaunay:n=131072,seed=1"
#: Arguments of ``laneway bench``; each takes less than three minutes.
RUNS: tuple[tuple[str, ...], ...] = (
    ("-n", "2", "channel"),
    ("-n", "2", "channel", "--threads", "1,2,4"),
    ("--on", "cluster:2x1@200mbit", "channel"),
    ("-n", "2", "partitioned"),
    ("--on", _CLUSTER, "partitioned"),
    ("--on", _THREADED, "spmbv", "--matrix", _MATRIX, "--columns", "1,8,64", "--kernel", "1", "--iterations", "15"),
)
_PAGE = Path("docs/results/channels.md")
_BEGIN = "<!-- measured: laneway reproduce channels -->"
_END = "<!-- end of what was measured -->"


def _rows(record: Record, key: str) -> list[Record]:
    found = record.get(key)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _microseconds(seconds: object) -> str:
    return f"{float(str(seconds)) * 1e6:.3g}" if seconds is not None else "–"


def _ratio(a: object, b: object) -> str:
    return f"{float(str(a)) / float(str(b)):.2f}" if a is not None and b else "–"


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heading) + " |", "| " + " | ".join("---" for _ in heading) + " |"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def _where(record: Record) -> str:
    nodes = int(str(record["nodes"]))
    return "one node" if nodes == 1 else f"{nodes} nodes"


def _channels(records: Sequence[Record]) -> list[str]:
    sizes: list[Sequence[str]] = []
    threads: list[Sequence[str]] = []
    for record in records:
        for row in _rows(record, "sizes"):
            times = [row["channel_s"], row["persistent_s"], row["put_flush_message_s"]]
            sizes.append(
                (
                    _where(record),
                    f"{row['bytes']}",
                    str(row["carrier"]),
                    *map(_microseconds, times),
                    _ratio(times[0], times[1]),
                    _ratio(times[0], times[2]),
                )
            )
        threads += [(f"{row['threads']}", f"{float(str(row['puts_per_second'])) * 1e-6:.1f}") for row in _rows(record, "threads")]
    heading = (
        "where",
        "bytes",
        "carrier",
        "channel, µs",
        "persistent message, µs",
        "`MPI_Put` + flush + message, µs",
        "to message",
        "to put",
    )
    lines = _table(heading, sizes) if sizes else []
    return lines + (_table(("threads", "million puts of 8 B a second"), threads) if threads else [])


def _partitions(records: Sequence[Record]) -> list[str]:
    rows = [
        (
            _where(record),
            f"{row['bytes']}",
            *map(_microseconds, (row["persistent_s"], row["one_partition_s"], row["after_last_s"])),
            _ratio(row["one_partition_s"], row["persistent_s"]),
            _ratio(row["after_last_s"], row["persistent_s"]),
        )
        for record in records
        for row in _rows(record, "sizes")
    ]
    heading = (
        "where",
        "bytes",
        "persistent message, µs",
        "one partition, µs",
        "after the last of 8, µs",
        "one to message",
        "rest to message",
    )
    return (_table(heading, rows) if rows else []) + _beside_mpi(records)


def _beside_mpi(records: Sequence[Record]) -> list[str]:
    """Beside MPI_Psend_init, where the MPI library has it."""
    pairs = [(f"mpi_{name}", name) for name in ("one_partition_s", "partitions_s", "after_last_s")]
    rows = [
        (
            _where(record),
            f"{row['bytes']}",
            *(
                text
                for of_mpi, own in pairs
                for text in (_microseconds(row[own]), _microseconds(row[of_mpi]), _ratio(row[own], row[of_mpi]))
            ),
        )
        for record in records
        for row in _rows(record, "sizes")
        if row.get("mpi_partitions_s") is not None
    ]
    each = ("one partition", "8 partitions", "after the last of 8")
    heading = ("where", "bytes", *(text for name in each for text in (f"{name}, µs", "MPI's own, µs", "to MPI's")))
    return _table(heading, rows) if rows else []


def _products(records: Sequence[Record]) -> list[str]:
    rows = [
        (
            f"{record['columns']}",
            f"`{record['exchange']}`",
            "early" if record["early"] else "at the end",
            f"{float(str(record['median_s'])) * 1e3:.3g}",
            f"{float(str(record['of_whole'])):.2f}",
        )
        for record in records
    ]
    return _table(("columns", "exchange", "multiplies", "median, ms", "whole / this"), rows) if rows else []


def tables(records: Sequence[Record]) -> str:
    """Markdown of all that is in the records."""

    def of(name: str) -> list[Record]:
        return [record for record in records if record.get("benchmark") == name]

    return "\n".join([*_channels(of("channel")), *_partitions(of("partitioned")), *_products(of("spmbv"))]).rstrip() + "\n"


def draw(table: Path, output: Path) -> list[Path]:
    """From records to ``channels.md`` in a folder, and to the page of the results, where there is one."""
    text = tables(results.read(table))
    path = output / "channels.md"
    path.write_text(text, encoding="utf-8")
    page = root() / _PAGE
    if not page.is_file():
        return [path]
    before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise UserError(f"{page} has no '{_BEGIN}' with '{_END}' after it")
    page.write_text(f"{before}{_BEGIN}\n\n{text}\n{_END}{after}", encoding="utf-8")
    return [path, page]


def channels(output: Path, console: Console, *, quick: bool = False) -> None:
    """Measures, here and on emulated clusters, which needs root."""
    path = output / "channels.jsonl"
    path.unlink(missing_ok=True)
    for run in RUNS:
        few = ("--iterations", "3") if quick and "--iterations" not in run else ()
        command = [str(root() / "dev"), "bench", *run, *few, "--json", str(path.resolve())]
        console.print(" ".join(command[1:]), highlight=False)
        if subprocess.run(command, check=False).returncode != 0:
            raise UserError(f"{' '.join(command)} failed")
    console.print(", ".join(map(str, draw(path, output))))
