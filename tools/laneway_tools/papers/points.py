"""Points of a figure: runs of laneway-bench on simulated clusters or on plans alone, in parallel, kept by their content."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from laneway_tools.measure import results
from laneway_tools.measure.results import Record
from laneway_tools.places import launch, machines, processors, simulator
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool, find_program, root
from laneway_tools.places.places import Simulated
from laneway_tools.places.simulation import Platform


def folder() -> Path:
    """Where results are kept by their content."""
    kept = root() / "build" / "reproduce"
    kept.mkdir(parents=True, exist_ok=True)
    return kept


def digest(*parts: bytes) -> str:
    """A name for what depends on all of these."""
    result = hashlib.sha256()
    for part in parts:
        result.update(hashlib.sha256(part).digest())
    return result.hexdigest()[:32]


def made_once(name: str, entries: Sequence[str], make: Callable[[Path, list[str]], None]) -> Path:
    """The folder of this name, with all entries: ``make`` writes those that are missing into another folder."""
    target = folder() / name
    missing = [entry for entry in entries if not (target / entry).exists()]
    if missing:
        target.mkdir(exist_ok=True)
        making = target / f"making-{os.getpid()}"
        try:
            make(making, missing)
            for entry in missing:
                (making / entry).replace(target / entry)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return target


class Runnable(Protocol):
    """What gives records, always the same ones."""

    def key(self) -> str:
        """Of everything that the records depend on."""

    def run(self, kept: Path) -> list[Record]:
        """The records, which are also those in ``kept`` from now on."""


@dataclass(frozen=True)
class Plans:
    """One run of ``laneway-bench predict``, with the parameters of a machine."""

    machine: str
    arguments: tuple[str, ...]
    files: tuple[Path, ...] = ()  #: that the arguments name

    def key(self) -> str:
        program, parameters = Path(find_local_tool("laneway-bench")), machines.read(self.machine).path
        return digest(repr(self.arguments).encode(), *(file.read_bytes() for file in (program, parameters, *self.files)))

    def run(self, kept: Path) -> list[Record]:
        command = [find_local_tool("laneway-bench"), "predict", *self.arguments]
        command += ["--parameters", str(machines.read(self.machine).path)]
        with tempfile.TemporaryDirectory(dir=kept.parent) as directory:
            records = Path(directory) / "records.jsonl"
            done = subprocess.run([*command, "--json", records], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise UserError(f"predict {' '.join(self.arguments)} failed: {done.stderr.strip()}", 1)
            records.replace(kept)
        return results.read(kept)


def once(machine: str) -> tuple[str, ...]:
    """The options of ``laneway-bench`` for one exchange of each candidate and of MPI's loop: virtual times do not vary."""
    return ("--baseline", "mpi", "--iterations", "1", "--goodput", f"{1 / machines.read(machine).injection_beta:g}")


@dataclass(frozen=True)
class Point:
    """One run of laneway-bench on a simulated cluster."""

    place: Simulated
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    files: tuple[Path, ...] = ()  #: that the arguments name

    def key(self) -> str:
        machine = machines.read(self.place.machine)
        return digest(
            Path(find_program("laneway-bench", simulator.PRESET)).read_bytes(),
            simulator.protocols().read_bytes(),
            Platform(machine, self.place.nodes, self.place.ranks_of_node).xml().encode(),
            machine.path.read_bytes(),
            repr((simulator.SETTINGS, simulator.BENCH_DEFAULTS, self.arguments, self.variables)).encode(),
            *(file.read_bytes() for file in self.files),
        )

    def run(self, kept: Path) -> list[Record]:
        with tempfile.TemporaryDirectory(dir=kept.parent) as directory:
            records, log = Path(directory) / "records.jsonl", Path(directory) / "log"
            command = ["laneway-bench", *self.arguments, "--json", str(records)]
            with log.open("wb") as output:
                status = launch.run(launch.Job(command, self.place, variables=dict(self.variables)), output)
            if status != 0:
                tail = "\n".join(log.read_text(errors="replace").splitlines()[-10:])
                raise UserError(f"{self.place}: {' '.join(self.arguments)} ended with status {status}:\n{tail}", 1)
            records.replace(kept)
        return results.read(kept)


def run_all(points: Sequence[Runnable], jobs: int | None = None) -> list[list[Record]]:
    """The records of every point; those that are known already take no time, and equal ones run once."""
    kept = [folder() / f"{point.key()}.jsonl" for point in points]
    found = {path: results.read(path) for path in kept if path.is_file()}
    missing = {path: point for path, point in zip(kept, points, strict=True) if path not in found}
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
    with Progress(*columns) as progress, ThreadPoolExecutor(jobs or processors.usable()) as pool:
        task = progress.add_task("points", total=len(found) + len(missing), completed=len(found))
        # The last are the largest clusters: begun first, none of them is left for the end.
        waiting = {pool.submit(point.run, path): path for path, point in reversed(missing.items())}
        try:
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                progress.advance(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[path] for path in kept]
