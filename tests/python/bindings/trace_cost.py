"""What LANEWAY_TRACE costs exchanges: the same ones traced and not, in turns in one job.

    nice -n -12 mpiexec --bind-to core -n 2 python tests/python/bindings/trace_cost.py MPICC [PAGE]

prints times and ratios as JSON. With PAGE it writes docs/results/tracing.md, too. A process asks for the variable once, so the library is loaded
twice: a copy that has seen the variable, and one that has not.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import laneway
from laneway import _library

# Functions come as arguments: there are two libraries.
LOOP = """
void loop(int (*start)(void*), int (*wait)(void*, void*), void* request, void* status, int times) {
  for (int i = 0; i < times; ++i) {
    start(request);
    wait(request, status);
  }
}
"""
SIZES, TURNS = (1024, 16384, 262144), 151
WANTED_SECONDS = 0.0005  # of a turn: shorter than a time slice
WAYS = {"memory": "auto", "messages": "p2p"}
"""How edges are carried, as the hint lnw_transport."""
BEST = 0.1
"""Of the turns: those in which other programs took least of the processors."""
PAGE = """# Cost of tracing

| | |
| --- | --- |
| measured | {date}, {ranks} ranks, {mpi}, on one machine; load of {load:.0f} on {processors} processors |
| command | `nice -n -12 mpiexec --bind-to core -n {ranks} python tests/python/bindings/trace_cost.py mpicc docs/results/tracing.md` |
| data | this page |
| wanted | less than 3% of an exchange with `LANEWAY_TRACE`; nothing without |
| reached | {reached}; without the variable no instruction of a trace runs (`tests/python/test_trace.py` counts) |
| physical limit | two readings of the clock a step |

Every rank sends to every other. A job has two copies of the library: one traces, the other does not. They take turns, {turns} times,
in an order that changes from turn to turn. A turn takes half a millisecond. Times are the tenth percentile of the turns: other programs
took least of the processors then. The last column has their ratio and its 95% interval, resampled over turns.

| edges go by | bytes of an edge | steps of a rank | without, µs | with, µs | with ÷ without |
| --- | ---: | ---: | ---: | ---: | ---: |
{rows}

Next: [see what held an exchange up](../use/tracing.md).
"""


def compiled(compiler: str, folder: Path) -> Any:
    """The loop."""
    (folder / "loop.c").write_text(LOOP, encoding="utf-8")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", folder / "loop.so", folder / "loop.c"], check=True)
    return ctypes.CDLL(str(folder / "loop.so")).loop


def request_of(library: str, transport: str, size: int) -> laneway.Request:
    """Of a library of this process; the first of it decides whether it traces."""
    os.environ["LANEWAY_LIBRARY"] = library
    _library.loaded.cache_clear()
    comm = MPI.COMM_WORLD
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    topology = laneway.Topology(comm, others, others, strategy="direct", transport=transport)
    send, recv = (np.zeros(size * len(others), dtype=np.uint8) for _ in range(2))
    request = topology.alltoallv_init(send, [size] * len(others), recv, [size] * len(others))
    request._kept.append(topology)
    return request


class Pair:
    """The same exchange, traced and not."""

    def __init__(self, loop: Any, plain: str, traced: str, transport: str, size: int) -> None:
        self._loop = loop
        self.requests = [request_of(plain, transport, size), request_of(traced, transport, size)]
        once = max(MPI.COMM_WORLD.allreduce(min(self.turn(0, 20) for _ in range(5)), op=MPI.MAX), 1e-6)
        self.times = max(int(WANTED_SECONDS / once), 2)

    def turn(self, which: int, times: int) -> float:
        """Seconds of an exchange, on the slowest rank."""
        request = self.requests[which]
        MPI.COMM_WORLD.Barrier()
        begin = time.perf_counter()
        self._loop(request._start, request._wait, request._reference, request._status, times)
        return MPI.COMM_WORLD.allreduce((time.perf_counter() - begin) / times, op=MPI.MAX)

    def measure(self) -> dict[str, Any]:
        seconds: tuple[list[float], list[float]] = ([], [])
        for turn in range(TURNS):
            for which in ((0, 1), (1, 0))[turn % 2]:
                seconds[which].append(self.turn(which, self.times))
        drawn = np.random.default_rng(1).integers(TURNS, size=(500, TURNS))
        samples = [np.array(each) for each in seconds]
        plain, traced = (np.quantile(each, BEST) for each in samples)
        low, high = np.percentile(np.quantile(samples[1][drawn], BEST, axis=1) / np.quantile(samples[0][drawn], BEST, axis=1), [2.5, 97.5])
        found = {"without_us": plain * 1e6, "with_us": traced * 1e6, "ratio": traced / plain, "low": low, "high": high}
        return {**{name: float(value) for name, value in found.items()}, "steps": len(self.requests[0].plan["steps"]), "times": self.times}


def main() -> None:
    comm = MPI.COMM_WORLD
    library = Path(_library.loaded()._name).resolve()
    folder = Path(comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None))
    if comm.rank == 0:
        for name in ("plain", "traced"):
            shutil.copy(library, folder / f"{name}.so")
        compiled(sys.argv[1], folder)
    comm.Barrier()
    loop = ctypes.CDLL(str(folder / "loop.so")).loop
    os.environ.pop("LANEWAY_TRACE", None)
    request_of(str(folder / "plain.so"), WAYS["memory"], 8)
    os.environ["LANEWAY_TRACE"] = str(folder / "trace")
    request_of(str(folder / "traced.so"), WAYS["memory"], 8)
    found = []
    for way, transport in WAYS.items():
        for size in SIZES:
            pair = Pair(loop, str(folder / "plain.so"), str(folder / "traced.so"), transport, size)
            found.append({"way": way, "bytes": size, **pair.measure()})
            if comm.rank == 0:
                print(json.dumps(found[-1]), flush=True)
            for request in pair.requests:
                request.free()
    written = comm.reduce(int((folder / f"trace.{comm.rank}").is_file()))
    if comm.rank == 0:
        assert written == comm.size, "the copy that is meant to trace did not"
        if len(sys.argv) > 2:
            write_page(Path(sys.argv[2]), found)
    comm.Barrier()
    if comm.rank == 0:
        shutil.rmtree(folder)


def write_page(path: Path, found: list[dict[str, Any]]) -> None:
    """The page of results."""
    rows = [
        f"| {each['way']} | {each['bytes']:,} | {each['steps']} | {each['without_us']:.2f} | {each['with_us']:.2f} "
        f"| {each['ratio']:.3f} ({each['low']:.3f} to {each['high']:.3f}) |"
        for each in found
    ]
    added = sorted(each["with_us"] - each["without_us"] for each in found if each["low"] > 1)
    values = {
        "date": datetime.date.today().isoformat(),
        "ranks": MPI.COMM_WORLD.size,
        "load": os.getloadavg()[0],
        "processors": os.cpu_count(),
    }
    values |= {"mpi": MPI.Get_library_version().split(",")[0].splitlines()[0], "turns": f"{TURNS:,}", "rows": "\n".join(rows)}
    which = f"an exchange of {found[0]['steps']} steps: less than 3% where that takes more than {added[-1] / 0.03:.0f} µs"
    reached = f"{added[0]:.2f} to {added[-1]:.2f} µs for {which}"
    path.write_text(PAGE.format(reached=reached, **values), encoding="utf-8")


if __name__ == "__main__":
    main()
