"""The dense operations: every rank of a communicator takes part.

Each has three forms: ``allreduce`` blocks, ``iallreduce`` returns a Request that is under way, ``allreduce_init`` plans once
and returns a Request to start again and again. Arrays are split along their first axis. ``MPI.IN_PLACE`` is where MPI has it.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, describe, element_handle, is_contiguous, pointer, row_handle, stream_of
from laneway._request import Request, make

_Parts = tuple[str, list[Any], list[Any], list[Any]]
_EMPTY = np.empty(0, dtype=np.uint8)


def _is_in_place(value: Any) -> bool:
    return value is MPI.IN_PLACE


def _buffer(value: Any, what: str, writable: bool) -> tuple[Any, Array]:
    if _is_in_place(value):
        return ctypes.c_void_p(int(MPI.IN_PLACE)), describe(_EMPTY)
    array = describe(_EMPTY if value is None else value, what, writable and value is not None)
    return pointer(array), array


def _rows(call: str, comm: Any, what: str, array: Array, parts: int) -> Any:
    if parts and array.shape[0] % parts:
        raise ValueError(f"{call}: rank {comm.rank}: {what} has {array.shape[0]} rows for {parts} ranks")
    return _library.Count(array.shape[0] // max(parts, 1))


def _exchange(call: str, comm: Any, send: Any, recv: Any, sendparts: int, recvparts: int, *after: Any) -> _Parts:
    sendbuf, sending = _buffer(send, "send", False)
    recvbuf, receiving = _buffer(recv, "recv", True)
    arguments = [
        sendbuf, _rows(call, comm, "send", sending, sendparts), row_handle(sending),
        recvbuf, _rows(call, comm, "recv", receiving, recvparts), row_handle(receiving),
        *after,
    ]  # fmt: skip
    return call, arguments, [sending, receiving], []


def _reduction(call: str, comm: Any, send: Any, recv: Any, op: Any, parts: int, *after: Any) -> _Parts:
    sendbuf, sending = _buffer(send, "send", False)
    recvbuf, receiving = _buffer(recv, "recv", True)
    of = receiving if recv is not None and not _is_in_place(recv) else sending
    if of is receiving and parts == 1 and not _is_in_place(send) and sending.shape != receiving.shape:
        raise ValueError(f"{call}: rank {comm.rank}: send has shape {sending.shape}, recv {receiving.shape}")
    if not _is_in_place(send) and of is receiving and sending.dtype != receiving.dtype:
        raise TypeError(f"{call}: rank {comm.rank}: send has dtype {sending.dtype}, recv {receiving.dtype}")
    if parts != 1 and not _is_in_place(send) and sending.shape[0] != receiving.shape[0] * parts:
        raise ValueError(f"{call}: rank {comm.rank}: send has {sending.shape[0]} rows, recv {receiving.shape[0]} for each of {parts} ranks")
    for what, array in (("send", sending), ("recv", receiving)):
        # MPI's operators are for its predefined types alone, so a row cannot be one element.
        if not is_contiguous(array):
            raise ValueError(f"{call}: rank {comm.rank}: {what} is not contiguous")
    count = _library.Count(math.prod(of.shape))
    return call, [sendbuf, recvbuf, count, element_handle(of), _library.handle(op), *after], [sending, receiving], []


def _blocking(comm: Any, parts: _Parts) -> None:
    name, arguments, arrays, _ = parts
    if stream_of(*arrays) is not None:
        raise ValueError(f"{name}: rank {comm.rank}: buffers of dense operations are in the host's memory, and an array here names a stream")
    _library.call(f"LNW_{name.capitalize()}_c", *arguments, _library.handle(comm))


def _nonblocking(comm: Any, parts: _Parts) -> Request:
    name, arguments, arrays, kept = parts
    return make(f"LNW_I{name}_c", [*arguments, _library.handle(comm)], arrays, [comm, *kept])


def _persistent(comm: Any, parts: _Parts, hints: dict[str, object]) -> Request:
    name, arguments, arrays, kept = parts
    with _library.Hints(hints) as info:
        return make(f"LNW_{name.capitalize()}_init_c", [*arguments, _library.handle(comm)], arrays, [comm, *kept], info)


def _alltoall(comm: Any, send: Any, recv: Any) -> _Parts:
    return _exchange("alltoall", comm, send, recv, comm.size, comm.size)


def _allgather(comm: Any, send: Any, recv: Any) -> _Parts:
    return _exchange("allgather", comm, send, recv, 1, comm.size)


def _gather(comm: Any, send: Any, recv: Any, root: int) -> _Parts:
    return _exchange("gather", comm, send, recv, 1, comm.size, ctypes.c_int(root))


def _scatter(comm: Any, send: Any, recv: Any, root: int) -> _Parts:
    return _exchange("scatter", comm, send, recv, comm.size, 1, ctypes.c_int(root))


def _bcast(comm: Any, buffer: Any, root: int) -> _Parts:
    array = describe(buffer, "buffer", writable=comm.rank != root)
    return "bcast", [pointer(array), _library.Count(array.shape[0]), row_handle(array), ctypes.c_int(root)], [array], []


def _alltoallv(comm: Any, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any, rdispls: Any) -> _Parts:
    arguments: list[Any] = []
    kept: list[Any] = []
    arrays = []
    for what, value, counts, displs in (("send", send, sendcounts, sdispls), ("recv", recv, recvcounts, rdispls)):
        address, array = _buffer(value, what, what == "recv")
        arrays.append(array)
        if _is_in_place(value):
            arguments += [address, None, None, row_handle(array)]
            continue
        numbers = np.ascontiguousarray(counts, dtype=np.int64)
        places = np.cumsum(numbers) - numbers if displs is None else np.ascontiguousarray(displs, dtype=np.int64)
        if numbers.shape != (comm.size,) or places.shape != (comm.size,):
            raise ValueError(f"alltoallv: rank {comm.rank}: {what}counts and displacements have {comm.size} entries, one for each rank")
        reached = int((places + numbers)[numbers > 0].max(initial=0))
        if reached > array.shape[0]:
            raise ValueError(f"alltoallv: rank {comm.rank}: {what}counts and displacements reach row {reached} of {array.shape[0]}")
        kept += [numbers, places]
        arguments += [address, ctypes.c_void_p(numbers.ctypes.data), ctypes.c_void_p(places.ctypes.data), row_handle(array)]
    return "alltoallv", arguments, arrays, kept


def alltoall(comm: Any, send: Any, recv: Any) -> None:
    """Equally many rows from each rank to each."""
    _blocking(comm, _alltoall(comm, send, recv))


def ialltoall(comm: Any, send: Any, recv: Any) -> Request:
    """As `alltoall`, nonblocking."""
    return _nonblocking(comm, _alltoall(comm, send, recv))


def alltoall_init(comm: Any, send: Any, recv: Any, **hints: object) -> Request:
    """As `alltoall`, persistent."""
    return _persistent(comm, _alltoall(comm, send, recv), hints)


def alltoallv(comm: Any, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any = None, rdispls: Any = None) -> None:
    """``sendcounts[k]`` rows to rank k. Without displacements, blocks follow each other."""
    _blocking(comm, _alltoallv(comm, send, sendcounts, recv, recvcounts, sdispls, rdispls))


def ialltoallv(comm: Any, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any = None, rdispls: Any = None) -> Request:
    """As `alltoallv`, nonblocking."""
    return _nonblocking(comm, _alltoallv(comm, send, sendcounts, recv, recvcounts, sdispls, rdispls))


def alltoallv_init(
    comm: Any, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any = None, rdispls: Any = None, **hints: object
) -> Request:
    """As `alltoallv`, persistent."""
    return _persistent(comm, _alltoallv(comm, send, sendcounts, recv, recvcounts, sdispls, rdispls), hints)


def allgather(comm: Any, send: Any, recv: Any) -> None:
    """All rows of every rank, in the order of ranks."""
    _blocking(comm, _allgather(comm, send, recv))


def iallgather(comm: Any, send: Any, recv: Any) -> Request:
    """As `allgather`, nonblocking."""
    return _nonblocking(comm, _allgather(comm, send, recv))


def allgather_init(comm: Any, send: Any, recv: Any, **hints: object) -> Request:
    """As `allgather`, persistent."""
    return _persistent(comm, _allgather(comm, send, recv), hints)


def gather(comm: Any, send: Any, recv: Any = None, root: int = 0) -> None:
    """All rows of every rank at `root`. `recv` is None elsewhere."""
    _blocking(comm, _gather(comm, send, recv, root))


def igather(comm: Any, send: Any, recv: Any = None, root: int = 0) -> Request:
    """As `gather`, nonblocking."""
    return _nonblocking(comm, _gather(comm, send, recv, root))


def gather_init(comm: Any, send: Any, recv: Any = None, root: int = 0, **hints: object) -> Request:
    """As `gather`, persistent."""
    return _persistent(comm, _gather(comm, send, recv, root), hints)


def scatter(comm: Any, send: Any, recv: Any, root: int = 0) -> None:
    """Equally many rows of `root` to every rank. `send` is None elsewhere."""
    _blocking(comm, _scatter(comm, send, recv, root))


def iscatter(comm: Any, send: Any, recv: Any, root: int = 0) -> Request:
    """As `scatter`, nonblocking."""
    return _nonblocking(comm, _scatter(comm, send, recv, root))


def scatter_init(comm: Any, send: Any, recv: Any, root: int = 0, **hints: object) -> Request:
    """As `scatter`, persistent."""
    return _persistent(comm, _scatter(comm, send, recv, root), hints)


def bcast(comm: Any, buffer: Any, root: int = 0) -> None:
    """The rows of `root` on every rank."""
    _blocking(comm, _bcast(comm, buffer, root))


def ibcast(comm: Any, buffer: Any, root: int = 0) -> Request:
    """As `bcast`, nonblocking."""
    return _nonblocking(comm, _bcast(comm, buffer, root))


def bcast_init(comm: Any, buffer: Any, root: int = 0, **hints: object) -> Request:
    """As `bcast`, persistent."""
    return _persistent(comm, _bcast(comm, buffer, root), hints)


def reduce(comm: Any, send: Any, recv: Any = None, op: Any = MPI.SUM, root: int = 0) -> None:
    """The arrays of all ranks combined, at `root`. `recv` is None elsewhere."""
    _blocking(comm, _reduction("reduce", comm, send, recv, op, 1, ctypes.c_int(root)))


def ireduce(comm: Any, send: Any, recv: Any = None, op: Any = MPI.SUM, root: int = 0) -> Request:
    """As `reduce`, nonblocking."""
    return _nonblocking(comm, _reduction("reduce", comm, send, recv, op, 1, ctypes.c_int(root)))


def reduce_init(comm: Any, send: Any, recv: Any = None, op: Any = MPI.SUM, root: int = 0, **hints: object) -> Request:
    """As `reduce`, persistent."""
    return _persistent(comm, _reduction("reduce", comm, send, recv, op, 1, ctypes.c_int(root)), hints)


def allreduce(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM) -> None:
    """The arrays of all ranks combined, on every rank."""
    _blocking(comm, _reduction("allreduce", comm, send, recv, op, 1))


def iallreduce(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM) -> Request:
    """As `allreduce`, nonblocking."""
    return _nonblocking(comm, _reduction("allreduce", comm, send, recv, op, 1))


def allreduce_init(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM, **hints: object) -> Request:
    """As `allreduce`, persistent."""
    return _persistent(comm, _reduction("allreduce", comm, send, recv, op, 1), hints)


def reduce_scatter_block(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM) -> None:
    """The arrays of all ranks combined, an equal part on each."""
    _blocking(comm, _reduction("reduce_scatter_block", comm, send, recv, op, comm.size))


def ireduce_scatter_block(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM) -> Request:
    """As `reduce_scatter_block`, nonblocking."""
    return _nonblocking(comm, _reduction("reduce_scatter_block", comm, send, recv, op, comm.size))


def reduce_scatter_block_init(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM, **hints: object) -> Request:
    """As `reduce_scatter_block`, persistent."""
    return _persistent(comm, _reduction("reduce_scatter_block", comm, send, recv, op, comm.size), hints)


def scan(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM) -> None:
    """The arrays of this rank and all before it combined."""
    _blocking(comm, _reduction("scan", comm, send, recv, op, 1))


def iscan(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM) -> Request:
    """As `scan`, nonblocking."""
    return _nonblocking(comm, _reduction("scan", comm, send, recv, op, 1))


def scan_init(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM, **hints: object) -> Request:
    """As `scan`, persistent."""
    return _persistent(comm, _reduction("scan", comm, send, recv, op, 1), hints)


def exscan(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM) -> None:
    """The arrays of all ranks before this one combined; `recv` of rank 0 stays as it is."""
    _blocking(comm, _reduction("exscan", comm, send, recv, op, 1))


def iexscan(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM) -> Request:
    """As `exscan`, nonblocking."""
    return _nonblocking(comm, _reduction("exscan", comm, send, recv, op, 1))


def exscan_init(comm: Any, send: Any, recv: Any, op: Any = MPI.SUM, **hints: object) -> Request:
    """As `exscan`, persistent."""
    return _persistent(comm, _reduction("exscan", comm, send, recv, op, 1), hints)


def barrier(comm: Any) -> None:
    """Return when all ranks have come here."""
    _library.call("LNW_Barrier", _library.handle(comm))


def ibarrier(comm: Any) -> Request:
    """As `barrier`, nonblocking."""
    return make("LNW_Ibarrier", [_library.handle(comm)], [], [comm])


def barrier_init(comm: Any, **hints: object) -> Request:
    """As `barrier`, persistent."""
    with _library.Hints(hints) as info:
        return make("LNW_Barrier_init", [_library.handle(comm)], [], [comm], info)
