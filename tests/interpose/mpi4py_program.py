"""Neighborhood collectives of mpi4py on a random graph, compared with what must arrive."""

import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
edges = [(s, d) for s in range(size) for d in range(size) if (s * 7 + d * 3) % 4 != 1]
sources = [s for s, d in edges if d == rank]
destinations = [d for s, d in edges if s == rank]
graph = comm.Create_dist_graph_adjacent(sources, destinations)
wrong = 0


def check(received: numpy.ndarray, expected: list[int]) -> None:
    global wrong
    wrong += received.tolist() != expected


for step in range(3):
    mine = numpy.array([100 * step + rank], dtype="i")
    gathered = numpy.full(len(sources), -1, dtype="i")
    expected = [100 * step + s for s in sources]
    graph.Neighbor_allgather(mine, gathered)
    check(gathered, expected)

    gathered[:] = -1
    first, second = graph.Ineighbor_allgather(mine, gathered), comm.Ibarrier()
    MPI.Request.Waitall([first, MPI.REQUEST_NULL, second])
    check(gathered, expected)

    send = numpy.array([100 * step + 10 * rank + d for d in destinations], dtype="i")
    received = numpy.full(len(sources), -1, dtype="i")
    ones_out, ones_in = [1] * len(destinations), [1] * len(sources)
    out, into = (send, (ones_out, range(len(ones_out))), MPI.INT), (received, (ones_in, range(len(ones_in))), MPI.INT)
    graph.Neighbor_alltoallv(out, into)
    check(received, [100 * step + 10 * s + rank for s in sources])
    received[:] = -1
    request = graph.Ineighbor_alltoallv(out, into)
    while not request.Test():
        pass
    check(received, [100 * step + 10 * s + rank for s in sources])

    objects = graph.neighbor_alltoall([(rank, d) for d in destinations])
    wrong += objects != [(s, rank) for s in sources]

graph.Free()
total = comm.allreduce(wrong)
if rank == 0:
    print("all checks hold" if total == 0 else f"wrong: {total}")
sys.exit(total != 0)
