"""Partners that only one side knows."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, ArrayLike, Blocks, describe, empty_like, integers, pointer, row_handle, synchronize
from laneway._request import Kept, Request
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
        self._state, self._memory = state, _Memory(state, bytes.value, data.value or 0)
        if bytes.value and data.value:
            self.data = np.asarray(self._memory).view(dtype).reshape(rows, *row)
        else:
            self.data = np.empty((rows, *row), dtype=dtype)

    @property
    def info(self) -> dict[str, str]:
        """How partners were found: the keys of LNW_Arrivals_get_info."""
        return _library.info_of("LNW_Arrivals_get_info", self._state)

    def topology(self, comm: MPI.Comm, backwards: bool = False, **hints: object) -> Topology:
        """The exchange's neighbours as a topology of `comm`, which it ran on: from those that sent to those that were sent to, or
        `backwards`. All ranks call it in the same order."""
        function = f"LNW_Topology_from_arrivals{'_reversed' if backwards else ''}"
        with _library.Hints(hints) as info:
            return Topology._of(comm, function, self._state, info)

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Pairs of a source and its rows."""
        end = 0
        for source, count in zip(self.sources, self.counts, strict=True):
            end += int(count)
            yield source, self.data[end - int(count) : end]


@contextlib.contextmanager
def _failing_everywhere(comm: MPI.Comm) -> Iterator[None]:
    """Where arguments of this rank are bad, take part in a sparse exchange with a bad one, so that no rank waits for it."""
    try:
        yield
    except (TypeError, ValueError):
        nothing, state = ctypes.c_void_p(), ctypes.c_void_p()
        with contextlib.suppress(_library.Error):
            _library.call(
                "LNW_Sparse_alltoallv_c", -1, nothing, nothing, nothing, nothing, _library.handle(MPI.BYTE), _library.handle(comm),
                _library.handle(MPI.INFO_NULL), ctypes.byref(state),
            )  # fmt: skip
        raise


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
    with _failing_everywhere(comm):
        array, arguments = _sparse_arguments(comm, destinations, send, sendcounts, sdispls)
    synchronize(array)
    state = ctypes.c_void_p()
    with _library.Hints(hints) as info:
        _library.call("LNW_Sparse_alltoallv_c", *arguments, _library.handle(comm), info, ctypes.byref(state))
    return Arrivals(state, array.shape[1:], array.dtype)


class SparseRequest(Request):
    """A sparse exchange under way; ``arrivals`` is what has arrived, None until it is complete."""

    _arriving: tuple[ctypes.c_void_p, tuple[int, ...], Any]
    _found: Arrivals | None = None

    @property
    def arrivals(self) -> Arrivals | None:
        """What has arrived, once the request is complete."""
        state, row, dtype = self._arriving
        if self._found is None and state:
            self._found = Arrivals(state, row, dtype)
        return self._found


def isparse_alltoallv(
    comm: MPI.Comm, destinations: Any, send: ArrayLike, sendcounts: Any = None, sdispls: Any = None, **hints: object
) -> SparseRequest:
    """As `sparse_alltoallv`, nonblocking. `send` may be written again at once.

    >>> request = laneway.isparse_alltoallv(comm, [comm.rank], np.array([5]))
    >>> request.wait()
    >>> request.arrivals.data.tolist()
    [5]
    """
    with _failing_everywhere(comm):
        array, arguments = _sparse_arguments(comm, destinations, send, sendcounts, sdispls)
    synchronize(array)
    state, request = ctypes.c_void_p(), ctypes.c_void_p()
    with _library.Hints(hints) as info:
        where = [_library.handle(comm), info, ctypes.byref(state), ctypes.byref(request)]
        _library.call("LNW_Isparse_alltoallv_c", *arguments, *where)
    made = SparseRequest(request, [], [comm, state], False)
    made._arriving = (state, array.shape[1:], array.dtype)
    return made


_ANSWERS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, _library.Count, ctypes.c_void_p, ctypes.c_void_p)


def sparse_query(
    comm: MPI.Comm,
    destinations: Any,
    send: ArrayLike,
    answer: Callable[[int, Any], Any],
    sendcounts: Any = None,
    sdispls: Any = None,
    dtype: Any = np.uint8,
    **hints: object,
) -> list[Any]:
    """Ask ranks that do not expect it: rows go as by `sparse_alltoallv`, ``answer(source, rows)`` is called on each target and gives
    an array, or None, and the answers come back as arrays of `dtype`, in the order of `destinations`. Collective. `answer` calls
    nothing of this package; where it raises, so does the call, here and on the rank that asks.

    >>> found = laneway.sparse_query(comm, [0], np.array([comm.rank]), lambda source, rows: 2 * rows, dtype=int)
    >>> found[0].tolist() == [2 * comm.rank]
    True
    """
    with _failing_everywhere(comm):
        array, arguments = _sparse_arguments(comm, destinations, send, sendcounts, sdispls)
    synchronize(array)
    raised: list[BaseException] = []

    def answered(source: int, request: int | None, size: int, _: object, into: int) -> int:
        try:
            held = bytearray(ctypes.string_at(request or 0, size) if size else b"")
            rows = np.frombuffer(held, dtype=np.uint8).view(array.dtype).reshape(-1, *array.shape[1:])
            given = answer(source, rows)
            if given is not None:
                text = np.ascontiguousarray(given)
                _library.call("LNW_Answer_append", ctypes.c_void_p(into), _library.pointer_to(text), _library.Count(text.nbytes))
        except BaseException as error:
            raised.append(error)
            return int(MPI.ERR_OTHER)
        return 0

    state = ctypes.c_void_p()
    try:
        with _library.Hints(hints) as info:
            _library.call("LNW_Sparse_query_c", *arguments, _ANSWERS(answered), None, _library.handle(comm), info, ctypes.byref(state))
    except _library.Error as error:
        if raised:
            raise raised[0] from error
        raise
    answers = Arrivals(state, (), np.dtype(np.uint8))
    return [np.array(rows).view(dtype) for _, rows in answers]


class _Set(ctypes.Structure):
    _fields_ = (
        ("ndestinations", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("destinations", "sendbuf", "sendcounts", "sdispls")),
        ("sendtype", ctypes.c_void_p if MPI._sizeof(MPI.Datatype) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int),
    )


def sparse_alltoallv_sets(comm: MPI.Comm, sets: Sequence[tuple[Any, ...]], **hints: object) -> list[Arrivals]:
    """Several exchanges in one round: each of `sets` is ``(destinations, send)`` or ``(destinations, send, sendcounts)`` as of
    `sparse_alltoallv`, equally many on all ranks. What goes to one destination travels together. Collective.

    >>> here = [([comm.rank], np.array([1])), ([comm.rank], np.array([[2.0, 3.0]]))]
    >>> [found.data.tolist() for found in laneway.sparse_alltoallv_sets(comm, here)]
    [[1], [[2.0, 3.0]]]
    """
    arrays, kept, made = [], [], (_Set * max(len(sets), 1))()
    with _failing_everywhere(comm):
        for given, one in zip(made, sets, strict=False):
            counted = one[2] if len(one) > 2 else None
            array, (number, ranks, start, counts, displs, kind) = _sparse_arguments(comm, one[0], one[1], counted, None)
            # Of this function, C has the form with int alone.
            small = [_library.ints(each.kept.tolist(), "sendcounts") for each in (counts, displs)]
            addresses = [ctypes.cast(each, ctypes.c_void_p).value for each in small]
            given.ndestinations, given.destinations, given.sendbuf = number, ranks.value, start.value
            given.sendcounts, given.sdispls, given.sendtype = *addresses, kind.value
            arrays.append(array)
            kept.append((ranks, small, kind))
    synchronize(*arrays)
    states = (ctypes.c_void_p * max(len(sets), 1))()
    with _library.Hints(hints) as info:
        _library.call("LNW_Sparse_alltoallv_sets", len(sets), made, _library.handle(comm), info, states)
    return [Arrivals(ctypes.c_void_p(state), array.shape[1:], array.dtype) for state, array in zip(states, arrays, strict=False)]


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
        with _failing_everywhere(comm):
            routes = ByRank(destinations)
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

    def free(self) -> None:
        """Free what the distributor holds."""
        for request in self._kept.requests.values():
            request.free()
        self._kept.requests.clear()
        for topology in self._ways:
            topology.free()

    def __enter__(self) -> Distributor:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def forward(self, x: ArrayLike, out: ArrayLike | None = None) -> Any:
        """The rows that arrive, in `out` where it is given, else in a new array: of NumPy, or where `x` is on a device of the
        library of `x`. The first call of a dtype and a shape of rows plans: all ranks take part. Arrays with other strides than
        then are copied."""
        return self._move(0, x, out)

    def backward(self, y: ArrayLike, out: ArrayLike | None = None) -> Any:
        """The rows of ``forward`` back to where they were."""
        return self._move(1, y, out)


__all__ = ["Arrivals", "ByRank", "Distributor", "sparse_alltoallv"]
