"""Halos: who owns the ghosts is found from global indices alone."""

from __future__ import annotations

import ctypes
import math
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, ArrayLike, check_operator, describe, integers, is_contiguous, row_handle
from laneway._discovery import ByRank, sparse_alltoallv
from laneway._request import Explanation, Kept, Request, make
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

    def free(self) -> None:
        """Free what the halo holds; requests that were made of it live on."""
        for request in self._kept.requests.values():
            request.free()
        self._kept.requests.clear()
        self.topology.free()

    def __enter__(self) -> Halo:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def explain(self) -> Explanation:
        """What the exchanges so far were planned as. Before the first one there is nothing to tell."""
        rows: dict[str, str] = {"owned": str(self.owned), "ghosts": str(self.ghosts), "owners": str(np.count_nonzero(self._receive[0]))}
        for request in self._kept.requests.values():
            rows |= request.explain().rows
        return Explanation(rows)


def _release(state: ctypes.c_void_p) -> None:
    if state and not MPI.Is_finalized():
        _library.loaded().LNW_Halo_free(ctypes.byref(state))


class Fields:
    """Halos of several arrays in one exchange: what a neighbour gets of all of them travels together. `owned` and `ghosts` are global
    indices as of ``Halo``, and so are the rows of each array. Collective over `comm`.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    >>> with laneway.Fields(MPI.COMM_WORLD, [rank], [(rank + 1) % size]) as halo:
    ...     density, velocity = np.full(2, rank), np.full((2, 3), float(rank))
    ...     with halo.exchange_init(density, velocity):
    ...         pass
    >>> int(density[1]) == (rank + 1) % size and bool((velocity[1] == (rank + 1) % size).all())
    True
    """

    def __init__(self, comm: MPI.Comm, owned: Any, ghosts: Any, **hints: object) -> None:
        mine, wanted = (integers(values, what).reshape(-1) for values, what in ((owned, "owned"), (ghosts, "ghosts")))
        lists = [_library.Count(len(mine)), _library.pointer_to(mine), _library.Count(len(wanted)), _library.pointer_to(wanted)]
        self._make(comm, "LNW_Halo_create_from_ids", lists, hints)

    def _make(self, comm: MPI.Comm, function: str, arguments: list[Any], hints: dict[str, object]) -> None:
        self.comm, self._state = comm, ctypes.c_void_p()
        self._shape: tuple[int, ...] | None = None
        with _library.Hints(hints) as info:
            _library.call(function, _library.handle(comm), *arguments, info, ctypes.byref(self._state))
        self._finalizer = weakref.finalize(self, _release, self._state)
        owned, elements = _library.Count(), _library.Count()
        _library.call("LNW_Halo_get_count", self._state, ctypes.byref(owned), ctypes.byref(elements))
        self.owned, self.elements = owned.value, elements.value

    def _described(self, arrays: tuple[ArrayLike, ...]) -> list[Array]:
        found, shape = [], self._shape or (self.elements,)
        for i, value in enumerate(arrays):
            array = describe(value, f"array {i}", writable=True)
            if array.shape[: len(shape)] != shape:
                raise ValueError(f"{type(self).__name__}: rank {self.comm.rank}: array {i} has shape {array.shape}, expected {shape} first")
            if not is_contiguous(array):
                raise ValueError(f"{type(self).__name__}: rank {self.comm.rank}: array {i} is not contiguous")
            inner = array.shape[len(shape) :]
            row = math.prod(inner) * array.dtype.itemsize
            found.append(replace(array, shape=(self.elements, *inner), strides=(row, *array.strides[len(shape) :])))
        return found

    def _init(self, name: str, arrays: tuple[ArrayLike, ...], op: MPI.Op | None, hints: dict[str, object]) -> Request:
        found = self._described(arrays)
        addresses = (ctypes.c_void_p * max(len(found), 1))(*(array.address for array in found))
        types = [row_handle(array) for array in found]
        handles = (type(types[0]) * len(types))(*types) if types else None
        if op is not None:
            for array in found:
                check_operator(name, self.comm.rank, op, array)
        operator = [] if op is None else [_library.handle(op)]
        arguments = [self._state, ctypes.c_int(len(found)), addresses, handles, *operator]
        with _library.Hints(hints) as info:
            function = f"LNW_Halo_{'' if op is None else 'reverse_'}init_fields"
            made: Request = make(function, arguments, [*found], [self, types, *arrays], info, False)
            return made

    def exchange_init(self, *arrays: ArrayLike, **hints: object) -> Request:
        """A request that fills the ghosts of all `arrays`, of any dtypes, to start again and again. Collective; several requests of
        one object may be under way at once."""
        return self._init("exchange_init", arrays, None, hints)

    def accumulate_init(self, *arrays: ArrayLike, op: MPI.Op = MPI.SUM, **hints: object) -> Request:
        """A request that combines the ghosts of all `arrays`, of one dtype, into the elements of which they are copies. Collective."""
        return self._init("accumulate_init", arrays, op, hints)

    def exchange(self, *arrays: ArrayLike) -> None:
        """Fill the ghosts of all `arrays` once. Collective."""
        self._once(self.exchange_init(*arrays))

    def accumulate(self, *arrays: ArrayLike, op: MPI.Op = MPI.SUM) -> None:
        """Combine the ghosts of all `arrays` once. Collective."""
        self._once(self.accumulate_init(*arrays, op=op))

    def _once(self, request: Request) -> None:
        with request:
            pass
        request.free()

    def _list(self, function: str) -> list[tuple[int, Any]]:
        number, ranks = ctypes.c_int(), ctypes.POINTER(ctypes.c_int)()
        counts, elements = ctypes.POINTER(_library.Count)(), ctypes.POINTER(_library.Count)()
        _library.call(function, self._state, *(ctypes.byref(each) for each in (number, ranks, counts, elements)))
        found, end = [], 0
        for i in range(number.value):
            end += counts[i]
            found.append((ranks[i], np.array(elements[end - counts[i] : end], dtype=np.int64)))
        return found

    @property
    def sent(self) -> list[tuple[int, Any]]:
        """Ranks that elements go to, and the places of these in an array."""
        return self._list("LNW_Halo_get_sent")

    @property
    def received(self) -> list[tuple[int, Any]]:
        """Ranks that ghosts come from, and the places of these in an array."""
        return self._list("LNW_Halo_get_received")

    def free(self) -> None:
        """Free the halo; requests that were made of it live on."""
        if self._state:
            _library.call("LNW_Halo_free", ctypes.byref(self._state))

    def __enter__(self) -> Fields:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


class CartesianHalo(Fields):
    """Halos of arrays that are spread over a grid of ranks. This rank has ``extents[d]`` elements of its own in dimension d, and
    ``widths[d]`` ghosts at both ends: arrays have the shape ``extents + 2 * widths``, and may have further axes. ``dims[d]`` ranks
    in each dimension, chosen where it is 0 or `dims` None. ``periods[d]``: the last rank neighbours the first. `corners`: ghosts
    across edges and corners, too. Collective over `comm`.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> comm = MPI.COMM_WORLD
    >>> halo = laneway.CartesianHalo(comm, [2, 3], [1, 1], dims=[comm.size, 1], periods=[True, True])
    >>> x = np.full(halo.shape, float(comm.rank))
    >>> halo.exchange(x)
    >>> bool((x[0] == (comm.rank - 1) % comm.size).all() and (x[-1] == (comm.rank + 1) % comm.size).all())
    True
    """

    def __init__(
        self, comm: MPI.Comm, extents: Any, widths: Any, dims: Any = None, periods: Any = None, corners: bool = True, **hints: object
    ) -> None:
        number = len(extents)
        periods = [False] * number if periods is None else periods
        for what, values in (("widths", widths), ("dims", dims), ("periods", periods)):
            if values is not None and len(values) != number:
                raise ValueError(f"CartesianHalo: rank {comm.rank}: {what} has {len(values)} entries, extents {number}")
        lists = [_library.ints(values, what) for values, what in ((extents, "extents"), (widths, "widths"))]
        arguments = [
            ctypes.c_int(number), None if dims is None else _library.ints(dims, "dims"), *lists,
            _library.ints([bool(period) for period in periods], "periods"), ctypes.c_int(bool(corners)),
        ]  # fmt: skip
        self._make(comm, "LNW_Halo_create_cart", arguments, hints)
        self.shape = tuple(int(extent) + 2 * int(width) for extent, width in zip(extents, widths, strict=True))
        """That of an array with its ghosts."""
        self._shape = self.shape
        grid = [(ctypes.c_int * max(number, 1))() for _ in range(2)]
        _library.call("LNW_Halo_get_cart", self._state, ctypes.c_int(number), *grid)
        self.dims, self.coords = (list(found[:number]) for found in grid)
