"""Running the program that measures: one launch at a time, watched, and with nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from laneway_tools.evaluate.libraries import Library
from laneway_tools.measure.results import Record
from laneway_tools.places import launch, launchers
from laneway_tools.places.errors import UserError
from laneway_tools.places.launchers import Allocation
from laneway_tools.places.places import Place, Simulated

_MARK = "EVALUATION_OF_LANEWAY"
_POLL_SECONDS = 0.5
_GRACE_SECONDS = 3.0
_START_SECONDS = 60.0  # launchers take their time, and are no result
_MESSAGE_LENGTH = 300
_NOISE = re.compile(r"^(\s*$|-+$|=+$|\[?proxy|\[?mpiexec|Primary job|a non-zero exit|mpirun noticed|Abort\(|.*BAD TERMINATION)")


@dataclass
class Outcome:
    """What a launch did: its records, its exit status, whether it stood still, and the benchmark that it was in at its end."""

    records: list[Record] = field(default_factory=list)
    status: int = 0
    stood_still: bool = False
    is_complete: bool = False
    at: Record = field(default_factory=dict)
    message: str = ""
    seconds: float = 0.0

    @property
    def done(self) -> list[str]:
        """Benchmarks that came to their end."""
        return [str(record["benchmark"]) for record in self.records if record.get("record") == "done"]


def _marked(mark: str) -> list[int]:
    """Processes that this launch has started, by what their environments hold."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if f"{_MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def _signal(mark: str, number: int) -> bool:
    """Send a signal to the processes of a launch; whether there were any."""
    found = _marked(mark)
    for process in found:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue
    return bool(found)


def sweep(mark: str) -> None:
    """End what is left of a launch, and only that."""
    if not _signal(mark, signal.SIGTERM):
        return
    until = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < until:
        if not _marked(mark):
            return
        time.sleep(0.1)
    _signal(mark, signal.SIGKILL)


class _Watch(threading.Thread):
    """Ends a launch whose output has not grown for so long."""

    def __init__(self, log: Path, mark: str, still_seconds: float) -> None:
        super().__init__(daemon=True)
        self._log, self._mark, self._still_seconds = log, mark, still_seconds
        self._ended = threading.Event()
        self.stood_still = False

    def run(self) -> None:
        size, since = -1, time.monotonic()
        while not self._ended.wait(_POLL_SECONDS):
            now = self._log.stat().st_size
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > (self._still_seconds if size else max(self._still_seconds, _START_SECONDS)):
                self.stood_still = True
                sweep(self._mark)
                return

    def end(self) -> None:
        """The launch has ended by itself."""
        self._ended.set()
        self.join()


def read_log(text: str) -> tuple[list[Record], list[str]]:
    """The records of a log, and what else is in it. A line that is cut off is no record."""
    records, others = [], []
    for line in text.splitlines():
        if line.startswith('{"record"'):
            try:
                records.append(json.loads(line))
                continue
            except ValueError:
                pass
        others.append(line)
    return records, others


def _message(others: Sequence[str], status: int, stood_still: bool, still_seconds: float) -> str:
    said = next((line.strip() for line in others if not _NOISE.match(line)), "")
    what = f"no result for {still_seconds:g} s" if stood_still else f"exit status {status}"
    if not stood_still and status > 128:
        try:
            what = f"ended by {signal.Signals(status - 128).name}"
        except ValueError:
            pass
    return f"{what}: {said}"[:_MESSAGE_LENGTH] if said else what


def outcome_of(log: Path, status: int = 130, stood_still: bool = False, still_seconds: float = 0) -> Outcome:
    """What a log has of a launch that has ended, or was stopped."""
    records, others = read_log(log.read_text(encoding="utf-8", errors="replace"))
    outcome = Outcome(records, status, stood_still)
    outcome.is_complete = any(record.get("record") == "end" for record in records)
    if not outcome.is_complete:
        outcome.at = next((record for record in reversed(records) if record.get("record") == "at"), {})
        outcome.message = _message(others, status, stood_still, still_seconds)
    return outcome


def place_of(library: Library, place: Place) -> Place:
    """In an allocation its batch system's launcher serves all libraries. Elsewhere each has its own, unless the user has named one."""
    if not isinstance(place, Allocation) or place.launcher or launchers.batch_launcher():
        return place
    hosts = " -hostfile {hostfile}" if place.hostfile else ""
    return Allocation(f"{shlex.quote(library.launcher)} -n {{ranks}}{hosts}", place.arguments, place.hostfile)


def _job(
    library: Library, place: Place, ranks: int | None, command: Sequence[str], variables: Mapping[str, str], preloads: Sequence[str]
) -> launch.Job:
    return launch.Job(
        command,
        place_of(library, place),
        ranks,
        library.kind if not isinstance(place, Simulated) else "openmpi",
        {**library.around, **variables},
        launcher=library.launcher,
        keep_to_cores=True,
        preloads=preloads,
    )


def rank_count(library: Library, place: Place, ranks: int | None, command: Sequence[str]) -> int:
    """How many ranks a launch has."""
    return _job(library, place, ranks, command, {}, ()).rank_count()


def run(
    library: Library,
    place: Place,
    ranks: int | None,
    command: Sequence[str],
    log: Path,
    still_seconds: float,
    variables: Mapping[str, str],
    preloads: Sequence[str] = (),
) -> Outcome:
    """One launch; its output is in ``log`` afterwards. Nothing of it runs any more when this returns or raises."""
    mark = uuid.uuid4().hex
    job = _job(library, place, ranks, command, {**variables, _MARK: mark}, preloads)
    log.parent.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    log.touch()
    watch = _Watch(log, mark, still_seconds)
    try:
        with log.open("wb") as output:
            watch.start()
            status = launch.run(job, output)
    finally:
        watch.end()
        sweep(mark)
    outcome = outcome_of(log, status, watch.stood_still, still_seconds)
    outcome.seconds = time.monotonic() - begin
    if status == 2 and not outcome.records and "not understood" in outcome.message:
        raise UserError(f"--program-args: {outcome.message.removeprefix('exit status 2: ')}")
    if status == 127 and not outcome.records:
        raise UserError(f"{library.name}: {outcome.message}", 127)
    return outcome
