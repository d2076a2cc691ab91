"""Running a program in SimGrid's SMPI on a simulated cluster."""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from laneway_tools.places import machines
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_program, root
from laneway_tools.places.places import Simulated
from laneway_tools.places.processes import wait_bounded
from laneway_tools.places.simulation import Platform

PRESET = "sim"
PRECISION = "LANEWAY_SIMULATION_PRECISION"  # events that are less seconds apart are one
# 1: messages that wait for no receive are under way when they are sent, as they are elsewhere; 0: when their receive is posted.
EAGER = "LANEWAY_SIMULATION_EAGER"
# 0: blocks of data are addresses that nobody writes; they take as much virtual time, and no memory.
DATA = "LANEWAY_SIMULATION_DATA"
_STOP_SECONDS = 6.0
# Ranks of this program have globals of their own by "mmap": a tenth of the memory of "dlopen", which loads a program once for each rank.
# Others would have to do without destructors at exit, too (bench/simulated_exit.cpp).
_BENCH = "laneway-bench"
# What that program has unless it is given otherwise.
BENCH_DEFAULTS = {EAGER: "1"}
# Time passes only as the platform says. Testing a request takes ten nanoseconds, as in real MPI libraries; so programs that
# poll end.
SETTINGS = {
    "network/model": "CM02",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "network/loopback-bw": "1e11",
    "network/loopback-lat": "0",
    "smpi/simulate-computation": "no",
    "smpi/test": "1e-8",
    "smpi/iprobe": "1e-8",
    "smpi/wtime": "0",
    "smpi/grow-injected-times": "no",
    "surf/precision": "1e-9",
    "contexts/stack-size": "1024",
    # What SMPI has by default takes time in proportion to the ranks.
    "smpi/allreduce": "rdb",
    "smpi/barrier": "ompi_recursivedoubling",
    "smpi/gather": "ompi_binomial",
    "smpi/reduce": "binomial",
    "smpi/reduce_scatter": "ompi_basic_recursivehalving",
}


def _smpimain() -> str:
    """The program that smpirun, which takes arguments apart at spaces, is a script around."""
    smpirun = shutil.which("smpirun")
    found = sorted(Path(smpirun).resolve().parents[1].glob("lib*/**/simgrid/smpimain")) if smpirun else []
    if not found:
        raise UserError("SimGrid's smpimain was not found; './dev setup --sim' installs libsimgrid-dev", 127)
    return str(found[0])


def protocols() -> Path:
    """The library that SMPI is given as the platform (simulator/protocols.cpp)."""
    library = root() / "build" / PRESET / "simulator" / "laneway-protocols.so"
    if not library.is_file():
        raise UserError("Laneway is not built for simulations: './dev setup --sim', then './dev build --preset sim'", 127)
    return library


def variables(place: Simulated) -> dict[str, str]:
    """What programs are told of the machine that they are simulated on."""
    machine = machines.read(place.machine)
    busy = Platform(machine, place.nodes, place.ranks_of_node).busy
    shares = machine.device_links is None  # otherwise a rank's memory is that of its device
    return {
        "LANEWAY_MACHINE": machine.description(place.nodes, place.ranks_of_node),
        "LANEWAY_PARAMETERS": str(machine.path),
        "LANEWAY_COPY_COST": f"{machine.copy_beta(place.ranks_of_node):g}",
        "LANEWAY_PACK_COST": f"{machine.pack:g}",
        "LANEWAY_FLAG_COST": f"{machine.flag if shares else 0:g}",
        "LANEWAY_SHARED_COST": f"{machine.overheads['shared'] / 2 * busy:g}",
        "LANEWAY_SHARED_BYTE_COST": f"{machine.shared_byte / 2:g}",
        "LANEWAY_RANKS_ON_DEVICES": f"{int(not shares)}",
        "LANEWAY_TURN_COST": f"{machine.wait * busy if busy > 1 else 0:g}",
    }


def run(
    place: Simulated,
    ranks: int,
    command: Sequence[str],
    environment: Mapping[str, str],
    timeout_seconds: float | None = None,
    output: BinaryIO | None = None,
) -> int:
    """Run a program that was built with smpicc or smpicxx, and return its exit status."""
    platform = Platform(machines.read(place.machine), place.nodes, place.ranks_of_node)
    program = find_program(command[0], PRESET)
    is_bench = Path(program).name == _BENCH
    environment = {**(BENCH_DEFAULTS if is_bench else {}), **environment}
    eager_bytes = platform.eager_bytes if environment.get(EAGER) == "1" else 0
    with tempfile.TemporaryDirectory(prefix="laneway-sim-") as directory:
        files = Path(directory)
        (files / "platform.xml").write_text(platform.xml(config=False), encoding="utf-8")
        (files / "hosts").write_text("\n".join(platform.hosts()) + "\n", encoding="utf-8")
        settings = {
            **SETTINGS,
            "smpi/privatization": "mmap" if is_bench else "dlopen",
            "smpi/np": str(ranks),
            "smpi/hostfile": str(files / "hosts"),
            "smpi/tmpdir": directory,
            "smpi/async-small-thresh": str(eager_bytes),
            "smpi/send-is-detached-thresh": str(platform.eager_bytes),
        }
        if environment.get(PRECISION):
            settings["surf/precision"] = environment[PRECISION]
        if not is_bench:
            # "dlopen" loads the program once for each rank; thread-local variables of each take some of this.
            environment = {"GLIBC_TUNABLES": f"glibc.rtld.optional_static_tls={ranks << 16}", **environment}
        argv = [_smpimain(), program, *(f"--cfg={key}:{value}" for key, value in settings.items())]
        argv += ["--log=root.thresh:warning", str(protocols()), *command[1:]]
        _, files_allowed = resource.getrlimit(resource.RLIMIT_NOFILE)  # each rank's globals are one
        process = subprocess.Popen(
            ["prlimit", f"--nofile={files_allowed}:{files_allowed}", "setpriv", "--pdeathsig", "TERM", *argv],
            env={
                **variables(place),
                **environment,
                "LANEWAY_PLATFORM": str(files / "platform.xml"),
                "LANEWAY_EAGER_BYTES": str(eager_bytes),
            },
            stdout=output,
            stderr=output,
        )
        return wait_bounded(process, process.terminate, timeout_seconds, _STOP_SECONDS)
