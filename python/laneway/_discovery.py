"""Partners that only one side knows."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, ArrayLike, Blocks, describe, empty_like, integers, pointer, row_handle, synchronize
from laneway._request import Kept
from laneway._topology import Topology

_Integers = np.ndarray[Any, np.dtype[np.int64]]


class ByRank:
    """Elements sorted by rank: ``order`` of the elements, the ``ranks`` that occur and their ``counts``."""

    def __init__(self, ranks: Any) -> None:
        found = integers(ranks, "destinations").reshape(-1)
        self.order: _Integers = np.argsort(found, kind="stable")
        names, counts = np.unique(found, return_counts=True)
        self.ranks, self.counts = [int(name) for name in names], counts.astype(np.int64)


def _release(state: ctypes.c_void_p) -> None:
    _library.loaded().LNW_Arrivals_free(ctypes.byref(state))


class _Memory:
    """What the library holds for arrivals; arrays that look into it keep it."""

    def __init__(self, state: ctypes.c_void_p, bytes: int, address: int) -> None:
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (bytes,), "data": (address, False)}
        self._finalizer = weakref.finalize(self, _release, state)


class Arrivals:
    """What has arrived in a sparse exchange: ``sources`` in ascending order, ``counts`` of rows, and ``data``, all rows.
    ``data`` is the library's memory, not a copy."""

    def __init__(self, state: ctypes.c_void_p, row: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        number, bytes = ctypes.c_int(), _library.Count()
        sources, counts, data = ctypes.POINTER(ctypes.c_int)(), ctypes.POINTER(_library.Count)(), ctypes.c_void_p()
        _library.call("LNW_Arrivals_get_count", state, ctypes.byref(number))
        _library.call("LNW_Arrivals_get_sources", state, ctypes.byref(sources), ctypes.byref(counts), None)
        _library.call("LNW_Arrivals_get_data", state, ctypes.byref(data), ctypes.byref(bytes))
        self.sources = sources[: number.value]
        self.counts = np.array(counts[: number.value], dtype=np.int64)
        rows = int(self.counts.sum())
        if bytes.value and data.value:
            held = np.asarray(_Memory(state, bytes.value, data.value))
            self.data = held.view(dtype).reshape(rows, *row)
        else:
            self.data = np.empty((rows, *row), dtype=dtype)
            _release(state)

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Pairs of a source and its rows."""
        end = 0
        for source, count in zip(self.sources, self.counts, strict=True):
            end += int(count)
            yield source, self.data[end - int(count) : end]


def _fail_everywhere(comm: MPI.Comm) -> None:
    """Take part in a sparse exchange with a bad argument, so that no rank waits for this one, which raises."""
    nothing, state = ctypes.c_void_p(), ctypes.c_void_p()
    with contextlib.suppress(_library.Error):
        _library.call(
            "LNW_Sparse_alltoallv_c", -1, nothing, nothing, nothing, nothing, _library.handle(MPI.BYTE), _library.handle(comm),
            _library.handle(MPI.INFO_NULL), ctypes.byref(state),
        )  # fmt: skip


def sparse_alltoallv(
    comm: MPI.Comm, destinations: Any, send: ArrayLike, sendcounts: Any = None, sdispls: Any = None, **hints: object
) -> Arrivals:
    """Send rows of `send` to ranks that do not expect them; who gets something learns from whom. Collective.

    ``sendcounts[i]`` rows go to ``destinations[i]``, one row to each without `sendcounts`; blocks follow each other
    without `sdispls`. The dtype and the shape of a row are the same on all ranks. `send` is in the host's memory; Error on
    all ranks where it is on a device. Hints: ``find``.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> arrived = laneway.sparse_alltoallv(MPI.COMM_WORLD, [MPI.COMM_WORLD.rank], np.array([[1, 2]]))
    >>> [(source == MPI.COMM_WORLD.rank, rows.tolist()) for source, rows in arrived]
    [(True, [[1, 2]])]
    """
    try:
        array, arguments = _sparse_arguments(comm, destinations, send, sendcounts, sdispls)
    except (TypeError, ValueError):
        _fail_everywhere(comm)
        raise
    synchronize(array)
    state = ctypes.c_void_p()
    with _library.Hints(hints) as info:
        _library.call("LNW_Sparse_alltoallv_c", *arguments, _library.handle(comm), info, ctypes.byref(state))
    return Arrivals(state, array.shape[1:], array.dtype)


def _sparse_arguments(comm: MPI.Comm, destinations: Any, send: Any, sendcounts: Any, sdispls: Any) -> tuple[Array, list[Any]]:
    array = describe(send, "send")
    where = f"sparse_alltoallv: rank {comm.rank}"
    ranks = integers(destinations, f"{where}: destinations")
    if (outside := np.flatnonzero((ranks < 0) | (ranks >= comm.size))).size:
        raise ValueError(f"{where}: destinations[{int(outside[0])}] is {int(ranks[outside[0]])}, and there are {comm.size} ranks")
    counts = np.ones(len(ranks), dtype=np.int64) if sendcounts is None else sendcounts
    blocks = Blocks(where, "send", array.shape[0], counts, sdispls, len(ranks), "destinations")
    return array, [len(ranks), _library.pointer_to(ranks.astype(np.intc)), pointer(array), *blocks.arguments(), row_handle(array)]


class Distributor:
    """Sends row i of an array to rank ``destinations[i]``, again and again, and back. Collective.

    ``sources`` names the rank of each row that arrives. Rows arrive in the order of ranks, those of one rank in their order.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    >>> distributor = laneway.Distributor(MPI.COMM_WORLD, np.arange(size))
    >>> arrived = distributor.forward(np.full(size, rank))
    >>> bool((arrived == np.arange(size)).all())
    True
    """

    def __init__(self, comm: MPI.Comm, destinations: Any, **hints: object) -> None:
        try:
            routes = ByRank(destinations)
        except (TypeError, ValueError):
            _fail_everywhere(comm)
            raise
        told = sparse_alltoallv(comm, routes.ranks, routes.counts.reshape(-1, 1))
        counts = told.data.reshape(-1)
        self.comm, self.rows = comm, len(routes.order)
        self.sources = np.repeat(np.array(told.sources, dtype=np.int64), counts)
        self._out = (routes.counts, routes.order)
        self._in = (np.array(counts), np.arange(len(self.sources)))
        self._ways = (Topology(comm, told.sources, routes.ranks, **hints), Topology(comm, routes.ranks, told.sources, **hints))
        self._kept = Kept()

    def _move(self, way: int, x: Any, out: Any) -> Any:
        sides = (self._out, self._in) if way == 0 else (self._in, self._out)
        rows = (self.rows, len(self.sources)) if way == 0 else (len(self.sources), self.rows)
        array = describe(x, "x")
        if array.shape[0] != rows[0]:
            raise ValueError(f"Distributor: rank {self.comm.rank}: x has {array.shape[0]} rows, expected {rows[0]}")
        if out is None:
            out = empty_like(x, array, (rows[1], *array.shape[1:]), "out")
        target: Array = describe(out, "out", writable=True)
        if target.shape[0] != rows[1]:
            raise ValueError(f"Distributor: rank {self.comm.rank}: out has {target.shape[0]} rows, expected {rows[1]}")
        if target.row != array.row:
            raise ValueError(
                f"Distributor: rank {self.comm.rank}: x has rows of shape {array.shape[1:]} and dtype {array.dtype}, "
                f"out of {target.shape[1:]} and {target.dtype}"
            )
        (counts, rows_out), (expected, rows_in) = sides
        make = lambda: self._ways[way].indexed_init(array, counts, rows_out, target, expected, rows_in)  # noqa: E731
        self._kept.run((way, array.row), array, target, make)
        return out

    def forward(self, x: ArrayLike, out: ArrayLike | None = None) -> Any:
        """The rows that arrive, in `out` where it is given, else in a new array: of NumPy, or where `x` is on a device of the
        library of `x`. The first call of a dtype and a shape of rows plans: all ranks take part. Arrays with other strides than
        then are copied."""
        return self._move(0, x, out)

    def backward(self, y: ArrayLike, out: ArrayLike | None = None) -> Any:
        """The rows of ``forward`` back to where they were."""
        return self._move(1, y, out)


__all__ = ["Arrivals", "ByRank", "Distributor", "sparse_alltoallv"]
