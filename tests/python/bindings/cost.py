"""What start and wait cost from Python over a loop of the same request in C, in turns in one process.

    mpiexec -n 1 python tests/python/bindings/cost.py MPICC
"""

from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
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
        print(json.dumps({"c_us": statistics.median(c), "python_us": statistics.median(python), "over_us": over}))


if __name__ == "__main__":
    main()
