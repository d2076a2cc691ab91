"""``laneway demo``: two exchanges on an emulated cluster, one table, three pictures."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table

from laneway_tools.dev import build
from laneway_tools.dev.steps import Steps
from laneway_tools.draw.exchanges import Bar, NodeMatrix, draw_matrices, draw_times
from laneway_tools.measure import results
from laneway_tools.measure.results import Record, number
from laneway_tools.places import cluster, launch
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_program
from laneway_tools.places.places import parse_place

PLACE = "cluster:4x4@200mbit"
_MPI = "openmpi"
_STRATEGIES = "direct,auto"
_MATRIX = "delaunay:n=131072,seed=1,curve=0"
_PATTERN = "rsg:density=0.6,seed=1"
_BYTES = "1024,32768,262144"
_PLAN_MACHINE = "node:4 rank:4"
_ITERATIONS = "10"
_LEFT_OUT = ("BUILD_TESTING", "LANEWAY_EXAMPLES", "LANEWAY_FORTRAN", "LANEWAY_INTEGRATIONS", "LANEWAY_PLUGINS", "LANEWAY_PRELOAD")
"""Options of the build of which the demo needs nothing. Other commands build the preset with them, of what is compiled already."""


def _settings() -> list[str]:
    """What is left out, unless it is in the folder of the build: Ninja would delete what was compiled of it."""
    cache = build.build_dir(_MPI) / "CMakeCache.txt"
    known = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read_text(encoding="utf-8"), re.MULTILINE)) if cache.is_file() else {}
    return [f"{option}={known.get(option, 'OFF')}" for option in _LEFT_OUT]


def _job(steps: Steps, text: str, job: launch.Job, log: Path) -> None:
    """Run an MPI program, with its output in a log."""
    with steps.step(text), log.open("wb") as file:
        status = launch.run(job, output=file)
    if status != 0:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        raise UserError(f"{job.command[0]} ended with status {status}; the end of {log}:\n{tail}", status)


def _case(record: Record) -> str:
    size = number(record, "bytes")
    if record.get("benchmark") == "spmv" or size is None:
        return f"{record.get('benchmark')} {str(record.get('pattern')).removeprefix('matrix:')}"
    shown = f"{size / 1024:g} KiB" if size >= 1024 else f"{size:g} B"
    return f"{record.get('op')} {record.get('pattern')}, {shown}"


def _candidate(record: Record) -> str:
    """Its name and, of auto, the strategy that it has chosen."""
    chosen = record.get("chosen")
    return f"{record.get('candidate')}: {chosen}" if chosen else str(record.get("candidate"))


def _lines(case: str) -> str:
    return case.replace(", ", "\n").replace(" ", "\n", 1).replace(",", "\n")


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def table_of(records: Iterable[Record], title: str) -> Group:
    """The results, a table of at most 79 columns for each case."""
    tables: dict[str, Table] = {}
    for record in records:
        case = _case(record)
        if case not in tables:
            tables[case] = Table(
                title=case, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
            )
            tables[case].add_column("candidate", no_wrap=True)
            for column in ("median ms", "speed-up", "limit", "msgs", "MB", "ok"):
                tables[case].add_column(column, justify="right", no_wrap=True)
        tables[case].add_row(
            _candidate(record),
            _cell(_scaled(number(record, "median_s"), 1e3), ".3f"),
            _cell(number(record, "speedup_vs_mpi"), ".2f"),
            _cell(number(record, "limit_fraction"), ".2f"),
            _cell(number(record, "net_messages_total"), ",.0f"),
            _cell(_scaled(number(record, "net_bytes_total"), 1e-6), ",.3f"),
            "yes" if record.get("verified") else "NO",
            style="bold" if (number(record, "speedup_vs_mpi") or 0) > 1.05 else "",
        )
    return Group(title, *tables.values())


def _draw(output: Path, records: list[Record], matrix_records: list[Record]) -> list[Path]:
    bars = [
        Bar(_lines(_case(r)), str(r.get("candidate")), median, number(r, "limit_s"), tuple(r.get("samples_s") or ()))
        for r in records
        if (median := number(r, "median_s"))
    ]
    matrices = {}
    for record in matrix_records:
        node_matrix = record.get("node_matrix")
        if record.get("benchmark") == "matrix" and isinstance(node_matrix, list):
            case, candidate = str(record.get("case", "")), str(record.get("candidate"))
            workload = case.rpartition(" ")[0]
            if candidate in _STRATEGIES.split(","):
                matrices[workload, candidate] = NodeMatrix(f"{case} bytes", candidate, node_matrix)
    paths = draw_times(bars, f"Exchanges on {PLACE}", output / "times") if bars else []
    return paths + (draw_matrices(list(matrices.values()), output / "node_matrix") if matrices else [])


def _bench(arguments: Sequence[str], json: Path, matrices: Path) -> launch.Job:
    common = ["--strategy", _STRATEGIES, "--baseline", "mpi", "--iterations", _ITERATIONS]
    files = ["--json", str(json), "--matrix-json", str(matrices)]
    return launch.Job(["laneway-bench", *arguments, *common, *files], parse_place(PLACE), mpi=_MPI, timeout_seconds=600)


def _explain(plan: Path) -> list[str]:
    what = [
        "--pattern",
        _PATTERN,
        "--machine",
        _PLAN_MACHINE,
        "--ranks",
        "16",
        "--strategy",
        "three_step",
        "--rank",
        "0",
    ]
    files = ["--svg", str(plan), "--json", str(plan.with_suffix(".json"))]
    return [find_program("laneway-bench", _MPI), "explain", *what, *files]


def run(output: Path) -> None:
    """Build, run, print the table, draw, and say where everything is."""
    start = time.monotonic()
    console = Console()
    cluster.require_privilege()
    output.mkdir(parents=True, exist_ok=True)
    spmv, neighbor, matrices, plan = (output / name for name in ("spmv.jsonl", "neighbor.jsonl", "matrices.jsonl", "plan.svg"))
    for old in (spmv, neighbor, matrices):
        old.unlink(missing_ok=True)

    with Steps(console) as steps:
        build.make(steps, _MPI, targets=["laneway-bench"], settings=_settings())
        work = ["spmv", "--matrix", _MATRIX]
        _job(steps, f"spmv {_MATRIX} on {PLACE}", _bench(work, spmv, matrices), output / "spmv.log")
        work = ["neighbor", "--op", "allgather", "--pattern", _PATTERN, "--bytes", _BYTES]
        _job(steps, f"allgather {_PATTERN} on {PLACE}", _bench(work, neighbor, matrices), output / "neighbor.log")
        steps.command("drawing the plan of rank 0", _explain(plan), output / "explain.log")
        with steps.step("drawing the pictures"):
            records = results.read(spmv) + results.read(neighbor)
            pictures = _draw(output, records, results.read(matrices))

    console.print(table_of(records, f"{PLACE}, 16 ranks, Open MPI; messages and MB are those between nodes"))
    console.print(f"done in {time.monotonic() - start:.0f} s; in {output}:", highlight=False)
    known = {
        "times": "the times of the table",
        "node_matrix": "bytes between nodes, by strategy",
        "plan": f"what rank 0 does in three_step on {_PATTERN}",
    }
    for path in [*pictures, plan]:
        console.print(f"  {path.name:18} {known[path.stem]}", highlight=False)
    console.print("  *.jsonl            the results, one JSON object a line", highlight=False)
