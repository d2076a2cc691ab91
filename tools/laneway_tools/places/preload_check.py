"""``laneway preload-check``: what the preload would take over of a program, and whether it can be preloaded at all."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from laneway_tools.places import launch
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_preloads, find_program, linked_libraries, linked_mpi

SOMETHING, NOTHING, IMPOSSIBLE, FAILED = 0, 1, 2, 3
_COLUMNS = 79
_OPERATION = re.compile(r"MPIX?_(?:I?neighbor|Neighbor)_\w+|MPIX?_Dist_graph_create\w*|MPI_Cart_create|MPI_Graph_create", re.I)
_SYMBOL = re.compile(r"P?MPIX?_[A-Z]\w+$")


@dataclass
class Found:
    """What is known of a program before it runs."""

    path: str
    mpi: str = ""
    obstacles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    operations: dict[str, list[str]] = field(default_factory=dict)
    """Files by the neighborhood operation or topology that they call."""


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _symbols(path: str, which: str) -> set[str]:
    """Dynamic symbols of MPI's, undefined or defined ones; of a static program all that are left in it."""
    for dynamic in (["-D"], []):
        said = subprocess.run(["nm", *dynamic, which, path], capture_output=True, text=True, check=False).stdout
        found = {line.split()[-1].partition("@")[0] for line in said.splitlines() if line.split()}
        if found:
            return {name for name in found if _SYMBOL.match(name)}
    return set()


def _files(path: str) -> list[str]:
    """The program and the libraries that it is linked with, but the MPI library's own."""
    libraries = re.findall(r"=> (/\S+)", linked_libraries(path))
    return [path, *(file for file in libraries if not re.match(r"lib(open-|mpi|mpich|pmpi)", Path(file).name))]


def _callers(path: str) -> dict[str, list[str]]:
    called: dict[str, list[str]] = {}
    for file in _files(path):
        for name in sorted(_symbols(file, "--undefined-only")):
            if _OPERATION.fullmatch(name.removeprefix("P") if name.startswith("PMPI") else name):
                called.setdefault(name, []).append(file)
    return called


def look_at(name: str, mpi: str) -> Found:
    """What can be told of a program without running it."""
    found = Found(find_program(name, mpi), mpi)
    path = Path(found.path)
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        found.obstacles.append("it is setuid or setgid, so the system ignores LD_PRELOAD")
    if not _is_elf(path):
        found.notes.append("it is a script: what it starts is seen in the dry run only")
        return found
    libraries = linked_libraries(found.path)
    linked = linked_mpi(libraries)
    if linked:
        found.notes.append(f"it is linked with {linked.name} ({linked.file})")
        if linked.mpi != mpi:
            found.obstacles.append(f"it is linked with {linked.name}, not what --mpi {mpi} is: give --mpi {linked.mpi}")
    if shutil.which("nm") is None:
        found.notes.append("nm is not there, so symbols are not looked at (Debian: binutils)")
        return found
    if shutil.which("ldd") and ".so" not in libraries:
        found.obstacles.append("it is linked statically: nothing can be preloaded")
    elif not linked and "MPI_Init" in _symbols(found.path, "--defined-only"):
        found.obstacles.append("the MPI library is linked into it: its calls cannot be taken over")
    elif not linked:
        found.notes.append("it is not linked with an MPI library; maybe it loads one later")
    found.operations = _callers(found.path)
    return found


def _lines(text: str, indent: str = "  ") -> str:
    return textwrap.fill(
        text, _COLUMNS, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False, break_on_hyphens=False
    )


def describe(found: Found) -> str:
    """For people, at most 79 columns wide but for long paths."""
    lines = [found.path]
    lines += [_lines(text) for text in (*found.notes, *(f"cannot be preloaded: {why}" for why in found.obstacles))]
    for name, files in found.operations.items():
        lines.append(_lines(f"{name} is called by {', '.join(Path(file).name for file in files)}"))
    if not found.operations and not found.obstacles:
        lines.append(_lines("no symbol of a neighborhood operation or topology was found"))
    return "\n".join(lines)


def dry_run(job: launch.Job) -> tuple[int, Mapping[str, object]]:
    """Run a program with the preload, which takes nothing over and counts all: its exit status, the counts."""
    with tempfile.TemporaryDirectory(prefix="laneway-") as folder:
        file = Path(folder) / "report.json"
        variables = {**job.variables, "LANEWAY_DISABLE": "count", "LANEWAY_REPORT": str(file)}
        status = launch.run(replace(job, variables=variables, preload=True))
        try:
            return status, json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return status, {}


def describe_run(report: Mapping[str, object]) -> tuple[bool, str]:
    """Whether anything would be taken over, and what would become of each operation."""
    would, lines = False, [f"dry run with {report['ranks']} ranks: nothing was taken over, all was counted"]
    rows = report["rows"]
    if not any("eighbor" in row["operation"] for row in rows):  # type: ignore[attr-defined]
        lines.append("  no neighborhood operation was called")
    for row in rows:  # type: ignore[attr-defined]
        for left in row["left"]:
            # Collectives of all ranks are taken over on request only.
            would = would or (left["reason"].startswith("would be") and "LANEWAY_DENSE" not in left["reason"])
            calls = f"{left['calls']} call{'s' if left['calls'] != 1 else ''}"
            lines.append(_lines(f"{row['operation']}: {calls}: {left['reason']}"))
    return would, "\n".join(lines)


def run(job: launch.Job, only_look: bool) -> int:
    """Print what would be taken over of a program; 0: something, 1: nothing, 2: it cannot be, 3: the program failed."""
    found = look_at(job.command[0], job.mpi)
    print(describe(found), flush=True)
    if found.obstacles:
        return IMPOSSIBLE
    try:
        print(_lines(f"preloaded: {':'.join(find_preloads(found.path, job.mpi))}"), flush=True)
    except UserError as error:
        print(_lines(f"cannot be preloaded: {error}"))
        return IMPOSSIBLE
    if only_look:
        return SOMETHING if any("eighbor" in name for name in found.operations) else NOTHING
    status, report = dry_run(job)
    if not report:
        print(f"the dry run ended with status {status} and counted nothing: MPI_Finalize was not reached")
        return FAILED
    would, text = describe_run(report)
    print(text)
    return FAILED if status else SOMETHING if would else NOTHING
