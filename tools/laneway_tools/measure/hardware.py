"""``laneway hardware``: all that is to be measured on a machine with a GPU, in one call and one file."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway_tools.measure import results
from laneway_tools.measure.results import Record
from laneway_tools.places import launch, talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_program, root
from laneway_tools.places.places import parse_place

PLUGINS = ("cuda", "hip", "simdevice")
_SANITIZERS = ("memcheck", "racecheck")
_PATHS = ("dd", "staged", "device")
_HALO_RANKS, _HALO_BYTES = 8, "64KiB"
# Described ones: messages between them go by the network's way, though they stay on the machine.
_TWO_NODES = ("--machine", "node:2 rank:2", "--goodput", "1e9")
# Seconds that one step may take: a program that hangs is a result, and those after it still run.
_LIMIT = 150
_MATRIX, _QUICK_MATRIX = "27pt:nx=64,ny=64,nz=64", "27pt:nx=16,ny=16,nz=16"


@dataclass
class Step:
    """One program that was run, and what came of it."""

    name: str
    command: Sequence[str]
    status: int = 0
    said: str = ""
    records: list[Record] = field(default_factory=list)


@dataclass
class Target:
    """A figure that is to be reached; nothing where it could not be measured."""

    name: str
    wanted: float
    measured: float | None

    @property
    def is_met(self) -> bool:
        return self.measured is not None and self.measured >= self.wanted


class _Runner:
    def __init__(self, plugin: Path, mpi: str, quick: bool, console: Console, done: Callable[[list[Step]], None]) -> None:
        self._variables = {"LANEWAY_DEVICE_PLUGINS": str(plugin), "LANEWAY_TEST_MEMORY": "mixed"}
        self._mpi, self._quick, self._console = mpi, quick, console
        self._iterations = "5" if quick else "30"
        self._done = done
        self.steps: list[Step] = []

    def run(self, name: str, command: Sequence[str], ranks: int | None = None, writes: bool = True) -> Step:
        """A program with its ranks, or without MPI; what it appends to `--json` are its records."""
        self._console.print(f"{name} …", highlight=False)
        with tempfile.TemporaryDirectory(prefix="laneway-") as folder:
            raw, said = Path(folder) / "records.jsonl", Path(folder) / "said"
            program = [find_program(command[0], self._mpi), *command[1:], *(["--json", str(raw)] if writes else [])]
            whole = ["timeout", "--kill-after=5", str(_LIMIT), *program]
            with said.open("wb") as output:
                if ranks is None:
                    environment = {**os.environ, **self._variables}
                    status = subprocess.run(whole, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
                else:
                    job = launch.Job(whole, parse_place("local"), ranks, self._mpi, self._variables)
                    status = launch.run(job, output)
            text = said.read_text(encoding="utf-8", errors="replace")
            if status == 124:
                text += f"\nstopped after {_LIMIT} s"
            step = Step(name, list(command), status, "" if status == 0 and writes else text[-4000:], results.read(raw))
        self.steps.append(step)
        self._done(self.steps)
        return step

    def measure(self) -> None:
        sizes = "1MiB,4MiB" if self._quick else "64KiB,1MiB,4MiB,64MiB"
        self.run("links", ["laneway-bench", "device", "--links"], writes=False)
        device = ["laneway-bench", "device", "--bytes", sizes, "--iterations", self._iterations]
        self.run("device", [*device, "--processes", "1,2" if self._quick else "1,2,4"])
        large = "4MiB" if self._quick else "4MiB,16MiB,64MiB"
        for path in _PATHS:
            self.run(f"pair {path}", self._neighbor("rsg:density=1,seed=1", path, large), 2)
            self.run(f"halo {path}", self._neighbor("rsg:density=0.6,seed=1", path, _HALO_BYTES), _HALO_RANKS)
            pong = self._neighbor("nodes:size=2,to=1,messages=2", path, "64KiB" if self._quick else "1KiB,64KiB,1MiB")
            self.run(f"node-pong {path}", [*pong, "--strategy", "split", *_TWO_NODES], 4)
        for name, extra in {"spmv": [], "spmm": ["--columns", "16"]}.items():
            product = ["laneway-bench", name, *extra, "--matrix", _QUICK_MATRIX if self._quick else _MATRIX]
            self.run(name, [*product, "--memory", "device", "--baseline", "p2p", "--iterations", self._iterations], 2)

        queue = ["laneway-bench", "queue", "--iterations", "20" if self._quick else "200", "--repeats", "3"]
        self.run("queue", [*queue, "--bytes", "4096" if self._quick else "8,4096,65536,1048576"], 2)

    def _neighbor(self, pattern: str, path: str, sizes: str) -> list[str]:
        command = ["laneway-bench", "neighbor", "--op", "alltoallv", "--pattern", pattern, "--bytes", sizes]
        command += ["--memory", "device", "--path", path, "--strategy", "direct", "--baseline", "mpi"]
        return [*command, "--iterations", self._iterations]

    def test(self) -> None:
        programs = root() / "build" / self._mpi / "tests" / "mpi"

        def cases(file: str, program: str) -> list[str]:
            return [str(programs / f"laneway_mpi_{program}_tests"), f"--files={file}"]

        device = cases("device", "runtime")
        self.run("tests of devices", device, 3, writes=False)
        self.run("tests of reductions", [*cases("reduce", "neighborhood"), "--gtest_filter=*OnDevices"], 3, writes=False)
        self.run("tests of queues", cases("queue", "threads"), 2, writes=False)
        if not self._quick:
            self.run("tests of exchanges", cases("exchange", "neighborhood"), 3, writes=False)
        if sanitizer := shutil.which("compute-sanitizer"):
            for tool in _SANITIZERS:
                self.run(tool, [sanitizer, "--tool", tool, "--error-exitcode", "9", *device], 1, writes=False)


def _find(steps: Sequence[Step], step: str, **what: object) -> list[Record]:
    records = [record for made in steps if made.name == step for record in made.records]
    return [record for record in records if all(record.get(key) == value for key, value in what.items())]


def _least(ratios: Sequence[float]) -> float | None:
    return min(ratios) if ratios else None


def targets_of(steps: Sequence[Step]) -> list[Target]:
    """What the figures are to reach, as fractions of a rate that was measured in the same call."""

    def rate(transfer: str, size: object, processes: int) -> float:
        found = _find(steps, "device", transfer=transfer, bytes=size, processes=processes)
        return float(found[0]["bytes_per_second"]) if found else 0.0

    def moves(transfer: str) -> float | None:
        found = _find(steps, "device", transfer=transfer, processes=1)
        return float(max(found, key=lambda record: record["bytes"])["ceiling_fraction_median"]) if found else None

    made = [Target(f"{name}, of a copy inside the device", 0.8, moves(name)) for name in ("pack 1 KiB", "unpack 1 KiB")]
    made += [Target(f"{name}, of what the device reaches", 0.5, moves(name)) for name in ("gather 8 B", "scatter 8 B")]
    peers, staged = [], []
    for record in _find(steps, "pair dd", candidate="direct"):
        if copies := rate("d2d", record["bytes"], 2):
            peers.append(2 * record["bytes"] / record["median_s"] / copies)
    for record in _find(steps, "pair staged", candidate="direct"):
        ways = [rate(transfer, record["bytes"], 2) for transfer in ("d2h", "h2d")]
        if all(ways):
            staged.append(sum(2 * record["bytes"] / way for way in ways) / record["median_s"])
    made.append(Target("two ranks by IPC from 4 MiB, of a copy inside the device", 0.8, _least(peers)))
    made.append(Target("two ranks staged from 4 MiB, of one copy to the host and one back", 0.85, _least(staged)))
    halos = [float(record["speedup_vs_mpi"]) for path in _PATHS for record in _find(steps, f"halo {path}", candidate="direct")]
    made.append(Target("halo of 8 ranks, 64 KiB, against staging each message by itself", 2.0, max(halos, default=None)))
    return made


def _short(record: Record) -> Record:
    """Without single samples, and what is not known."""
    return {key: value for key, value in record.items() if key != "samples_s" and value is not None}


def _plugin(name: str, mpi: str) -> Path:
    path = root() / "build" / mpi / "src" / f"liblaneway_{name}.so"
    if name not in PLUGINS:
        raise UserError(f"--plugin {name}: expected one of {', '.join(PLUGINS)}")
    if not path.exists():
        raise UserError(f"{path} is not there: ./dev setup --{name}, and build again", 1)
    return path


def _has_device(plugin: Path, mpi: str) -> bool:
    environment: Mapping[str, str] = {**os.environ, "LANEWAY_DEVICE_PLUGINS": str(plugin)}
    program = [find_program("laneway-bench", mpi), "device", "--links"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 0 and "# 0: " in done.stdout


def run(output: Path, *, plugin: str, mpi: str, quick: bool) -> None:
    """Measure, test, compare with what is to be reached, and write one JSON file."""
    console = talk.console()
    found = _plugin(plugin, mpi)
    if not _has_device(found, mpi):
        raise UserError(f"the plugin '{plugin}' finds no device here", 1)
    command = f"laneway hardware --plugin {plugin} --mpi {mpi}" + (" --quick" if quick else "")

    def write(steps: Sequence[Step]) -> None:
        written = {
            "command": command,
            "date": datetime.date.today().isoformat(),
            "targets": [{**asdict(target), "is_met": target.is_met} for target in targets_of(steps)],
            "steps": [{**asdict(step), "records": [_short(record) for record in step.records]} for step in steps],
        }
        output.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")

    runner = _Runner(found, mpi, quick, console, write)
    runner.measure()
    runner.test()
    targets = targets_of(runner.steps)
    table = Table(title=f"{plugin}, {mpi}")
    for column in ("figure", "wanted", "measured"):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for target in targets:
        measured = "-" if target.measured is None else f"{target.measured:.2f}"
        table.add_row(target.name, f"{target.wanted:.2f}", measured, style="" if target.is_met else "red")
    console.print(table)
    failed = [step.name for step in runner.steps if step.status != 0]
    if failed:
        console.print(f"failed: {', '.join(failed)}", style="red")
    console.print(f"written: {output}", highlight=False)
    if failed:
        raise UserError(f"{len(failed)} of {len(runner.steps)} steps failed", 1)
