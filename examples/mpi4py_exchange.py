"""Neighborhood collectives of mpi4py, timed: run it with and without ``laneway run --preload`` (docs/use/preloading.md).

Each rank sends blocks to random others. The digest of all that arrives is the same in every run; lines that start with
"time" are not.
"""

import argparse
import hashlib
import random
import statistics
import time
from collections.abc import Callable

import numpy
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--bytes", type=int, default=32768, help="of a block")
parser.add_argument("--density", type=float, default=0.6, help="probability of an edge")
parser.add_argument("--iterations", type=int, default=30)
options = parser.parse_args()

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
random.seed(1)
edges = [(s, d) for s in range(size) for d in range(size) if s != d and random.random() < options.density]
sources = [s for s, d in edges if d == rank]
destinations = [d for s, d in edges if s == rank]
graph = comm.Create_dist_graph_adjacent(sources, destinations)

block = options.bytes
mine = numpy.random.default_rng(rank).integers(0, 256, (max(len(destinations), 1), block), dtype="u1")
received = numpy.zeros((len(sources), block), dtype="u1")


def vector(blocks: numpy.ndarray, count: int) -> list:
    return [blocks, [block] * count, [i * block for i in range(count)], MPI.BYTE]


def allgather() -> None:
    graph.Neighbor_allgather(mine[0], received)


def ialltoallv() -> None:
    graph.Ineighbor_alltoallv(vector(mine, len(destinations)), vector(received, len(sources))).Wait()


def measure(name: str, exchange: Callable[[], None]) -> None:
    times = []
    for _ in range(options.iterations + 3):
        comm.Barrier()
        begin = time.perf_counter()
        exchange()
        times.append(comm.allreduce(time.perf_counter() - begin, MPI.MAX))
    digests = comm.gather(hashlib.sha256(received.tobytes()).hexdigest())
    if rank == 0:
        print(f"{name}: {hashlib.sha256(''.join(digests).encode()).hexdigest()[:16]}")
        print(f"time: {name} {statistics.median(times[3:]):.6f} s", flush=True)


measure("Neighbor_allgather", allgather)
measure("Ineighbor_alltoallv", ialltoallv)
graph.Free()
