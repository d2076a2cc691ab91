"""Halos: who owns the ghosts is found from global indices alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from laneway._buffers import Array, ArrayLike, describe, integers
from laneway._discovery import ByRank, sparse_alltoallv
from laneway._request import Explanation, Kept, Request
from laneway._topology import Topology

_NONE = int(np.iinfo(np.int64).max)


def agree(comm: MPI.Comm, call: str, problem: str) -> None:
    """ValueError on all ranks with the first rank's `problem`: one that raised alone would leave the others in a collective call."""
    first = comm.allreduce(comm.rank if problem else comm.size, op=MPI.MIN)
    if first < comm.size:
        text = comm.bcast(problem, root=first)
        raise ValueError(f"{call}: rank {first}: {text}")


def _for_all(neighbours: np.ndarray[Any, np.dtype[np.intc]], ranks: Any, counts: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Counts by neighbour, of which `ranks`, in ascending order, have `counts`."""
    spread = np.zeros(len(neighbours), dtype=np.int64)
    spread[np.searchsorted(neighbours, np.asarray(ranks))] = counts
    return spread


class _Directory:
    """Owner and local position of global indices, spread over the ranks in equal ranges of indices. A rank keeps what is owned
    in its range, in ascending order: memory goes by the number of indices, whatever their values."""

    def __init__(self, comm: MPI.Comm, owned: np.ndarray[Any, np.dtype[np.int64]], lowest: int, highest: int) -> None:
        self.comm, self.lowest = comm, lowest
        self.chunk = max(-(-(highest + 1 - lowest) // comm.size), 1)
        routes = self._routes(owned)
        pairs = np.stack([owned, np.arange(len(owned))], axis=1)[routes.order]
        told = sparse_alltoallv(comm, routes.ranks, pairs, routes.counts)
        order = np.argsort(told.data[:, 0], kind="stable")
        self.indices = told.data[order, 0]
        self.places = np.stack([np.repeat(np.array(told.sources, dtype=np.int64), told.counts), told.data[:, 1]], axis=1)[order]
        twice = self.indices[1:][self.indices[1:] == self.indices[:-1]]
        agree(comm, "Halo", f"index {int(twice[0])} of owned is named by several ranks, or twice" if twice.size else "")

    def _routes(self, indices: np.ndarray[Any, np.dtype[np.int64]]) -> ByRank:
        return ByRank((indices - self.lowest) // self.chunk)

    def find(self, wanted: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Owner and position for each index; -1 where nobody owns it."""
        routes = self._routes(wanted)
        asked = sparse_alltoallv(self.comm, routes.ranks, wanted[routes.order], routes.counts)
        known = np.append(self.indices, -1)
        at = np.searchsorted(self.indices, asked.data)
        found_here = np.append(self.places, [[-1, -1]], axis=0)[np.where(known[at] == asked.data, at, len(self.indices))]
        answers = sparse_alltoallv(self.comm, asked.sources, found_here, asked.counts)
        # Sources are in ascending order, as the ranks that were asked.
        found = np.empty((len(wanted), 2), dtype=np.int64)
        found[routes.order] = answers.data.reshape(-1, 2)
        return found


class Halo:
    """Copies of elements that other ranks own, kept equal to them. Collective over `comm`.

    `owned` are the global indices of this rank's elements, `ghosts` those of the elements that it needs; both are arrays
    of integers, in the order of the rows of the arrays: owned rows first, then ghosts. Indices begin at 0, and may have
    gaps. ValueError on all ranks where no rank owns a ghost, or two own an element.

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

    The first exchange of a dtype and a shape of rows plans, and all ranks take part. Later ones start at once; an array with
    other strides than the first one is copied. On a device it is a ValueError: ``exchange_init`` plans for it.
    """

    def __init__(self, comm: MPI.Comm, owned: Any, ghosts: Any, **hints: object) -> None:
        problem, mine, wanted = "", *(np.empty(0, dtype=np.int64) for _ in range(2))
        try:
            mine, wanted = (integers(values, what).reshape(-1) for values, what in ((owned, "owned"), (ghosts, "ghosts")))
        except (TypeError, ValueError) as error:
            problem = str(error)
        every = np.concatenate([mine, wanted])
        lowest, highest = (int(every.min()), int(every.max())) if every.size else (_NONE, -1)
        agree(comm, "Halo", problem or (f"index {lowest} is negative" if lowest < 0 else ""))
        lowest, highest = comm.allreduce(lowest, op=MPI.MIN), comm.allreduce(highest, op=MPI.MAX)
        found = _Directory(comm, mine, min(lowest, highest + 1), highest).find(wanted)
        lost = np.flatnonzero(found[:, 0] < 0)
        agree(comm, "Halo", f"ghosts[{int(lost[0])}] is {int(wanted[lost[0]])}, which no rank owns" if lost.size else "")
        owners = ByRank(found[:, 0])
        asked = sparse_alltoallv(comm, owners.ranks, found[owners.order, 1], owners.counts)
        self.comm, self.owned, self.ghosts = comm, len(mine), len(wanted)
        # Whoever sends receives, be it nothing: one topology is that of both ways.
        neighbours = np.union1d(owners.ranks, asked.sources).astype(np.intc)
        self.topology = Topology(comm, neighbours, neighbours, **hints)
        self._send = (_for_all(neighbours, asked.sources, asked.counts), np.array(asked.data))
        self._receive = (_for_all(neighbours, owners.ranks, owners.counts), owners.order + len(mine))
        self._kept = Kept()

    def _described(self, x: ArrayLike) -> Array:
        array = describe(x, "x", writable=True)
        if array.shape[0] != self.owned + self.ghosts:
            raise ValueError(
                f"Halo: rank {self.comm.rank}: x has {array.shape[0]} rows, and there are {self.owned} owned and {self.ghosts} ghosts"
            )
        return array

    def _init(self, array: Array, op: MPI.Op | None) -> Request:
        if op is None:
            return self.topology.indexed_init(array, *self._send, array, *self._receive)
        return self.topology.indexed_init(array, *self._receive, array, *self._send, op)

    def _run(self, x: ArrayLike, op: MPI.Op | None) -> None:
        array = self._described(x)
        # The handle of a program's own operator may be another's once it is freed; the object is kept.
        which = None if op is None else MPI._handleof(op) if op.is_predefined else (id(op),)
        self._kept.run((array.row, which), array, array, lambda: self._init(array, op))

    def exchange(self, x: ArrayLike) -> None:
        """Fill the ghost rows of `x` from their owners. `x` has any dtype, any further axes, any strides."""
        self._run(x, None)

    def accumulate(self, x: ArrayLike, op: MPI.Op = MPI.SUM) -> None:
        """Combine the ghost rows of `x` into the rows of their owners: ``owned = owned op ghost``. Ghosts stay as they are.

        >>> halo = laneway.Halo(comm, owned=[comm.rank], ghosts=[0] if comm.rank else [])
        >>> x = np.ones(halo.owned + halo.ghosts)
        >>> halo.accumulate(x)  # rank 0 has a ghost on every other rank
        >>> bool(x[0] == (1 if comm.rank else comm.size))
        True
        """
        self._run(x, op)

    def exchange_init(self, x: ArrayLike) -> Request:
        """A request of ``exchange(x)`` for this array, to start again and again. Collective."""
        return self._init(self._described(x), None)

    def accumulate_init(self, x: ArrayLike, op: MPI.Op = MPI.SUM) -> Request:
        """A request of ``accumulate(x)`` for this array. Collective."""
        return self._init(self._described(x), op)

    def explain(self) -> Explanation:
        """What the exchanges so far were planned as. Before the first one there is nothing to tell."""
        rows: dict[str, str] = {"owned": str(self.owned), "ghosts": str(self.ghosts), "owners": str(np.count_nonzero(self._receive[0]))}
        for request in self._kept.requests.values():
            rows |= request.explain().rows
        return Explanation(rows)
