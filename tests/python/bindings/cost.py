"""What start and wait cost from Python over a loop of the same request in C, in turns in one process.

    mpiexec -n 1 python tests/python/bindings/cost.py MPICC [PAGE]

prints the medians as JSON. With PAGE it writes docs/results/python.md, too, where also an array of 8 MiB is exchanged while
Python's allocations are counted.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from mpi4py import MPI

import laneway
from laneway._library import loaded

LOOP = """
typedef void* Request;
int LNW_Start(Request*);
int LNW_Wait(Request*, void*);
void loop(Request* request, void* status, int times) {
  for (int i = 0; i < times; ++i) {
    LNW_Start(request);
    LNW_Wait(request, status);
  }
}
"""
TURNS, TIMES = 41, 2000


def compiled(compiler: str) -> ctypes.CDLL:
    """The loop; its two functions are found in the library that is loaded already."""
    folder = Path(tempfile.mkdtemp())
    (folder / "loop.c").write_text(LOOP, encoding="utf-8")
    file = loaded()._name
    rpath = f"-Wl,-rpath,{Path(file).parent}"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", folder / "loop.so", folder / "loop.c", file, rpath], check=True)
    return ctypes.CDLL(str(folder / "loop.so"))


PAGE = """# Cost of Python

| | |
| --- | --- |
| measured | {date}, one rank, {mpi}, Python {python}, mpi4py {mpi4py}, NumPy {numpy}; load of {load:.0f} on {processors} processors |
| command | `mpiexec -n 1 python tests/python/bindings/cost.py mpicc docs/results/python.md` |
| data | this page |
| wanted | start and wait from Python at most 1.5 µs over C; no copies of contiguous arrays |
| reached | {over:.2f} µs over C; {copies} |
| physical limit | two calls of ctypes |

One process starts and waits for a request with one edge to itself, {times} times in a loop in C and {times} times in a loop in
Python. The two take turns, {turns} times.

| | median, µs | least, µs | largest, µs |
| --- | ---: | ---: | ---: |
| C | {c:.2f} | {c_least:.2f} | {c_most:.2f} |
| Python | {python_us:.2f} | {python_least:.2f} | {python_most:.2f} |
| Python less C of the same turn | {over:.2f} | {over_least:.2f} | {over_most:.2f} |

An array of 8 MiB, and every second column of one, are exchanged 10 times by requests and by a blocking call. Python and NumPy
allocate {peak} bytes at most meanwhile. `tests/python/bindings/exchanges.py` asserts less than 32,000.
"""


def peak_of_exchanges(comm: MPI.Comm) -> int:
    """The most bytes that Python and NumPy hold during exchanges, beyond what they held before."""
    large = np.zeros(1 << 20)
    topology = laneway.Topology(comm, [comm.rank], [comm.rank])
    recv = np.zeros_like(large)
    request = topology.alltoallv_init(large, [len(large)], recv, [len(recv)])
    wide = np.zeros((4096, 512))[:, ::2]
    columns = topology.alltoallv_init(wide, [4096], np.zeros((4096, 256)), [4096])

    def exchange() -> None:
        for each in (request, columns):
            with each:
                pass
        topology.alltoallv(large, [len(large)], recv, [len(recv)])

    exchange()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(10):
        exchange()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


def write_page(path: Path, comm: MPI.Comm, c: list[float], python: list[float]) -> None:
    """The page of results."""
    import mpi4py

    over = [p - q for p, q in zip(python, c, strict=True)]
    named = {"c": c, "python_us": python, "over": over}
    values = {name: statistics.median(each) for name, each in named.items()}
    for name, each in (("c", c), ("python", python), ("over", over)):
        values |= {f"{name}_least": min(each), f"{name}_most": max(each)}
    peak = peak_of_exchanges(comm)
    text = PAGE.format(
        date=datetime.date.today().isoformat(),
        mpi=MPI.Get_library_version().split(",")[0].splitlines()[0],
        python=platform.python_version(),
        mpi4py=mpi4py.__version__,
        numpy=np.__version__,
        load=os.getloadavg()[0],
        processors=os.cpu_count(),
        times=f"{TIMES:,}",
        turns=TURNS,
        peak=f"{peak:,}",
        copies="none" if peak < 32_000 else "copies",
        **values,
    )
    path.write_text(text, encoding="utf-8")


def main() -> None:
    comm = MPI.COMM_WORLD
    topology = laneway.Topology(comm, [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size], strategy="direct")
    request = topology.alltoallv_init(np.zeros(1), [1], np.zeros(1), [1])
    loop = compiled(sys.argv[1]).loop
    c, python = [], []
    for _ in range(TURNS):
        comm.Barrier()
        begin = time.perf_counter()
        loop(request._reference, request._status, TIMES)
        c.append((time.perf_counter() - begin) / TIMES * 1e6)
        comm.Barrier()
        start, wait = request.start, request.wait
        begin = time.perf_counter()
        for _ in range(TIMES):
            start()
            wait()
        python.append((time.perf_counter() - begin) / TIMES * 1e6)
    if comm.rank == 0:
        over = statistics.median(p - q for p, q in zip(python, c, strict=True))
        if len(sys.argv) > 2:
            write_page(Path(sys.argv[2]), comm, c, python)
        print(json.dumps({"c_us": statistics.median(c), "python_us": statistics.median(python), "over_us": over}))


if __name__ == "__main__":
    main()
