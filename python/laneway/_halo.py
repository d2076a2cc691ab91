"""Halos: who owns the ghosts is found from global indices alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from laneway._buffers import ArrayLike, describe
from laneway._discovery import ByRank, sparse_alltoallv
from laneway._request import Explanation, Request
from laneway._topology import Topology


def _agree(comm: MPI.Comm, call: str, problem: str) -> None:
    # A rank that raised alone would leave the others in a collective call.
    first = comm.allreduce(comm.rank if problem else comm.size, op=MPI.MIN)
    if first < comm.size:
        text = comm.bcast(problem, root=first)
        raise ValueError(f"{call}: rank {first}: {text}")


def _indices(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    found = np.asarray(values)
    if found.size and not np.issubdtype(found.dtype, np.integer):
        raise TypeError(f"global indices are integers, not {found.dtype}")
    return np.ascontiguousarray(found.reshape(-1), dtype=np.int64)


def _for_all(neighbours: np.ndarray[Any, np.dtype[np.intc]], ranks: Any, counts: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Counts by neighbour, of which `ranks`, in ascending order, have `counts`."""
    spread = np.zeros(len(neighbours), dtype=np.int64)
    spread[np.searchsorted(neighbours, np.asarray(ranks))] = counts
    return spread


class _Directory:
    """Owner and local position of global indices, spread over the ranks in equal ranges of indices."""

    def __init__(self, comm: MPI.Comm, owned: np.ndarray[Any, np.dtype[np.int64]], highest: int) -> None:
        self.comm = comm
        self.chunk = max(-(-(highest + 1) // comm.size), 1)
        self.begin = comm.rank * self.chunk
        routes = ByRank(owned // self.chunk)
        pairs = np.stack([owned, np.arange(len(owned))], axis=1)[routes.order]
        told = sparse_alltoallv(comm, routes.ranks, pairs, routes.counts)
        self.places = np.full((self.chunk, 2), -1, dtype=np.int64)
        entries = told.data
        at = entries[:, 0] - self.begin
        self.places[at, 0] = np.repeat(told.sources, told.counts)
        self.places[at, 1] = entries[:, 1]
        numbers, times = np.unique(at, return_counts=True)
        twice = numbers[times > 1]
        _agree(comm, "Halo", f"index {int(twice[0]) + self.begin} of owned is named by several ranks, or twice" if twice.size else "")

    def find(self, wanted: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Owner and position for each index; -1 where nobody owns it."""
        routes = ByRank(wanted // self.chunk)
        asked = sparse_alltoallv(self.comm, routes.ranks, wanted[routes.order], routes.counts)
        answers = sparse_alltoallv(self.comm, asked.sources, self.places[asked.data - self.begin], asked.counts)
        # Sources are in ascending order, as the ranks that were asked.
        found = np.empty((len(wanted), 2), dtype=np.int64)
        found[routes.order] = answers.data.reshape(-1, 2)
        return found


class Halo:
    """Copies of elements that other ranks own, kept equal to them. Collective over `comm`.

    `owned` are the global indices of this rank's elements, `ghosts` those of the elements that it needs; both are arrays
    of integers, in the order of the rows of the arrays: owned rows first, then ghosts. Indices begin at 0, and may have
    gaps. ValueError on all ranks where nobody owns a ghost, or two own an element.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    >>> owned = np.arange(2 * rank, 2 * rank + 2)
    >>> ghosts = np.array([(2 * rank + 2) % (2 * size)])
    >>> halo = laneway.Halo(MPI.COMM_WORLD, owned, ghosts)
    >>> x = np.concatenate([owned * 10.0, [0.0]])
    >>> halo.exchange(x)
    >>> bool(x[2] == ghosts[0] * 10)
    True

    The first exchange of a layout (shape, strides, dtype) plans, and all ranks take part. Later ones start at once.
    """

    def __init__(self, comm: MPI.Comm, owned: Any, ghosts: Any, **hints: object) -> None:
        mine, wanted = _indices(owned), _indices(ghosts)
        lowest = min((int(values.min()) for values in (mine, wanted) if values.size), default=0)
        _agree(comm, "Halo", f"index {lowest} is negative" if lowest < 0 else "")
        highest = max((int(values.max()) for values in (mine, wanted) if values.size), default=-1)
        found = _Directory(comm, mine, comm.allreduce(highest, op=MPI.MAX)).find(wanted)
        lost = np.flatnonzero(found[:, 0] < 0)
        _agree(comm, "Halo", f"ghosts[{int(lost[0])}] is {int(wanted[lost[0]])}, which no rank owns" if lost.size else "")
        owners = ByRank(found[:, 0])
        asked = sparse_alltoallv(comm, owners.ranks, found[owners.order, 1], owners.counts)
        self.comm, self.owned, self.ghosts = comm, len(mine), len(wanted)
        # Whoever sends receives, be it nothing: one topology is that of both ways.
        neighbours = np.union1d(owners.ranks, asked.sources).astype(np.intc)
        self.topology = Topology(comm, neighbours, neighbours, **hints)
        self._send = (_for_all(neighbours, asked.sources, asked.counts), np.array(asked.data))
        self._receive = (_for_all(neighbours, owners.ranks, owners.counts), owners.order + len(mine))
        self._requests: dict[Any, Request] = {}

    def _request(self, x: ArrayLike, op: MPI.Op | None) -> Request:
        array = describe(x, "x", writable=True)
        if array.shape[0] != self.owned + self.ghosts:
            raise ValueError(
                f"Halo: rank {self.comm.rank}: x has {array.shape[0]} rows, and there are {self.owned} owned and {self.ghosts} ghosts"
            )
        key = (array.layout, None if op is None else MPI._handleof(op))
        request = self._requests.get(key)
        if request is None:
            if op is None:
                request = self.topology.indexed_init(array, *self._send, array, *self._receive)
            else:
                request = self.topology.indexed_init(array, *self._receive, array, *self._send, op)
            self._requests[key] = request
        else:
            request.rebind(array, array)
        return request

    def exchange(self, x: ArrayLike) -> None:
        """Fill the ghost rows of `x` from their owners. `x` has any dtype, any further axes, any strides."""
        request = self._request(x, None)
        request.start()
        request.wait()

    def accumulate(self, x: ArrayLike, op: MPI.Op = MPI.SUM) -> None:
        """Combine the ghost rows of `x` into the rows of their owners: ``owned = owned op ghost``. Ghosts stay as they are.

        >>> halo = laneway.Halo(comm, owned=[comm.rank], ghosts=[0] if comm.rank else [])
        >>> x = np.ones(halo.owned + halo.ghosts)
        >>> halo.accumulate(x)  # rank 0 has a ghost on every other rank
        >>> bool(x[0] == (1 if comm.rank else comm.size))
        True
        """
        request = self._request(x, op)
        request.start()
        request.wait()

    def exchange_init(self, x: ArrayLike) -> Request:
        """The request of ``exchange(x)``, to start and to wait for; the halo's own, not to be freed."""
        return self._request(x, None)

    def accumulate_init(self, x: ArrayLike, op: MPI.Op = MPI.SUM) -> Request:
        """The request of ``accumulate(x)``."""
        return self._request(x, op)

    def explain(self) -> Explanation:
        """What the exchanges so far were planned as. Before the first one there is nothing to tell."""
        rows: dict[str, str] = {"owned": str(self.owned), "ghosts": str(self.ghosts), "owners": str(np.count_nonzero(self._receive[0]))}
        for request in self._requests.values():
            rows |= request.explain().rows
        return Explanation(rows)
