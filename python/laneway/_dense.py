"""The dense operations: every rank of a communicator takes part.

Each has three forms: ``allreduce`` blocks, ``iallreduce`` returns a Request that is under way, ``allreduce_init`` plans once
and returns a Request to start again and again. Arrays are split along their first axis. ``MPI.IN_PLACE`` is where MPI has it.
Where an array on a device names its stream, the host waits for the stream at the start.

>>> import numpy as np
>>> from mpi4py import MPI
>>> import laneway
>>> comm = MPI.COMM_WORLD
>>> total = np.zeros(2)
>>> laneway.allreduce(comm, np.ones(2), total)
>>> bool((total == comm.size).all())
True
>>> ranks = np.zeros(comm.size)
>>> with laneway.iallgather(comm, np.array([float(comm.rank)]), ranks):
...     pass  # work that touches neither array
>>> bool((ranks == np.arange(comm.size)).all())
True
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import (
    Array,
    ArrayLike,
    ArrayOrInPlace,
    Blocks,
    check_operator,
    describe,
    element_handle,
    empty_like,
    integers,
    is_contiguous,
    pointer,
    row_handle,
    synchronize,
)  # fmt: skip
from laneway._forms import Call, Runners, forms
from laneway._request import Request, make

_EMPTY = np.empty(0, dtype=np.uint8)


def _function(form: str, call: Call) -> str:
    return f"LNW_{form.format(call.name if form.startswith('I') else call.name.capitalize())}" + ("_c" if call.arguments else "")


def _blocking(comm: MPI.Comm, call: Call) -> None:
    synchronize(*call.arrays)
    _library.call(_function("{}", call), *call.arguments, _library.handle(comm))


def _nonblocking(comm: MPI.Comm, call: Call) -> Request:
    return make(_function("I{}", call), [*call.arguments, _library.handle(comm)], call.arrays, [comm, *call.kept])


def _persistent(comm: MPI.Comm, call: Call, hints: dict[str, object]) -> Request:
    with _library.Hints(hints) as info:
        arguments = [*call.arguments, _library.handle(comm)]
        return make(_function("{}_init", call), arguments, call.arrays, [comm, *call.kept], info, takes_stream=False)


_RUNNERS = Runners(_blocking, _nonblocking, _persistent)


def _is_in_place(value: Any) -> bool:
    return value is MPI.IN_PLACE


def _buffer(value: Any, what: str, needed: bool = True) -> tuple[Any, Array]:
    """The address and what is known of it; where only other ranks need it, no address, whatever is given."""
    if not needed:
        return None, describe(_EMPTY)
    if _is_in_place(value):
        return ctypes.c_void_p(int(MPI.IN_PLACE)), describe(_EMPTY)
    array = describe(value, what, what == "recv")
    return pointer(array), array


def _equal(call: str, comm: MPI.Comm, what: str, value: Any, parts: int, needed: bool = True) -> tuple[list[Any], Array]:
    """Buffer, count and datatype of equal parts."""
    address, array = _buffer(value, what, needed)
    if array.shape[0] % parts:
        raise ValueError(f"{call}: rank {comm.rank}: {what} has {array.shape[0]} rows for {parts} ranks")
    return [address, _library.Count(array.shape[0] // parts), row_handle(array)], array


def _uneven(call: str, comm: MPI.Comm, what: str, value: Any, counts: Any, displs: Any, needed: bool = True) -> tuple[list[Any], Array]:
    """Buffer, counts, displacements and datatype of a part for each rank."""
    address, array = _buffer(value, what, needed)
    if not needed or (counts is None and _is_in_place(value)):
        return [address, None, None, row_handle(array)], array
    rows = None if _is_in_place(value) else array.shape[0]
    blocks = Blocks(f"{call}: rank {comm.rank}", what, rows, counts, displs, comm.size, "ranks")
    return [address, *blocks.arguments(), row_handle(array)], array


def _even_parts(call: str, comm: MPI.Comm, send: Any, recv: Any, parts: tuple[int, int], root: int | None = None) -> Call:
    here = root is None or comm.rank == root
    sending, sent = _equal(call, comm, "send", send, parts[0], here or parts[0] == 1)
    receiving, received = _equal(call, comm, "recv", recv, parts[1], here or parts[1] == 1)
    if here and not _is_in_place(send) and not _is_in_place(recv):
        sizes = [math.prod(each.shape) * each.dtype.itemsize // part for each, part in zip((sent, received), parts, strict=True)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"{call}: rank {comm.rank}: send has {sizes[0]} bytes for a rank, recv {sizes[1]}")
    return Call(call, [*sending, *receiving, *_root(root)], [sent, received], [])


def _root(root: int | None) -> list[Any]:
    return [] if root is None else [_library.integer(root, "root")]


def _reduction(
    call: str, comm: MPI.Comm, send: Any, recv: Any, op: MPI.Op, counts: Any = None, parts: int = 1, root: int | None = None
) -> Call:
    """Arrays that are combined element by element. The result has the rows that were sent, their part of `parts`, or `counts`
    of this rank."""
    here = root is None or comm.rank == root
    in_place = here and _is_in_place(send)
    sendbuf, sending = _buffer(send, "send")
    if call == "exscan" and comm.rank == 0 and not in_place and recv is None:
        # Not significant here, but the library wants an address.
        recv = empty_like(send, sending, sending.shape, "recv")
    recvbuf, receiving = _buffer(recv, "recv", here)
    array = receiving if in_place else sending
    where = f"{call}: rank {comm.rank}"
    numbers = None if counts is None else integers(counts, f"{where}: recvcounts")
    if numbers is not None and numbers.shape != (comm.size,):
        raise ValueError(f"{where}: recvcounts have {comm.size} entries, one for each rank")
    if numbers is not None and numbers.min() < 0:
        raise ValueError(f"{where}: recvcounts[{int(numbers.argmin())}] is {numbers.min()}")
    if numbers is not None and (total := sum(numbers.tolist())) != array.shape[0]:
        raise ValueError(f"{where}: recvcounts are {total} rows, and there are {array.shape[0]}")
    if array.shape[0] % parts:
        raise ValueError(f"{where}: {array.shape[0]} rows for {parts} ranks")
    rows = array.shape[0] // parts if numbers is None else int(numbers[comm.rank])
    if recvbuf is not None and not in_place and not _is_in_place(recv):
        if sending.dtype != receiving.dtype:
            raise TypeError(f"{where}: send has dtype {sending.dtype}, recv {receiving.dtype}")
        if receiving.shape != (rows, *sending.shape[1:]):
            raise ValueError(f"{where}: send has shape {sending.shape}, recv {receiving.shape}")
    for what, each in (("send", sending), ("recv", receiving)):
        # MPI's operators are for its predefined types alone, so a row cannot be one element.
        if not is_contiguous(each):
            raise ValueError(f"{where}: {what} is not contiguous")
    check_operator(call, comm.rank, op, array)
    size = math.prod(array.shape[1:])
    count = _library.Count(rows * size) if numbers is None else _library.pointer_to(numbers * size)
    arguments = [sendbuf, recvbuf, count, element_handle(array), _library.handle(op), *_root(root)]
    return Call(call, arguments, [sending, receiving], [])


def _alltoall(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike) -> Call:
    """Equally many rows from each rank to each.

    >>> received = np.zeros(comm.size)
    >>> laneway.alltoall(comm, np.arange(comm.size) + 10.0 * comm.rank, received)
    >>> bool((received == 10.0 * np.arange(comm.size) + comm.rank).all())
    True
    """
    return _even_parts("alltoall", comm, send, recv, (comm.size, comm.size))


def _alltoallv(
    comm: MPI.Comm, send: ArrayOrInPlace, sendcounts: Any, recv: ArrayLike, recvcounts: Any, sdispls: Any = None, rdispls: Any = None
) -> Call:
    """``sendcounts[k]`` rows to rank k. Without displacements, blocks follow each other.

    >>> counts = range(comm.size)
    >>> received = np.zeros((comm.size * comm.rank, 2))
    >>> laneway.alltoallv(comm, np.ones((sum(counts), 2)), counts, received, [comm.rank] * comm.size)
    >>> bool((received == 1).all())
    True
    """
    if _is_in_place(send):
        sendcounts = sdispls = None
    sending, sent = _uneven("alltoallv", comm, "send", send, sendcounts, sdispls)
    receiving, received = _uneven("alltoallv", comm, "recv", recv, recvcounts, rdispls)
    return Call("alltoallv", [*sending, *receiving], [sent, received], [])


def _allgather(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike) -> Call:
    """All rows of every rank, in the order of ranks.

    >>> received = np.zeros((comm.size, 2))
    >>> laneway.allgather(comm, np.full((1, 2), float(comm.rank)), received)
    >>> received[-1].tolist() == [comm.size - 1] * 2
    True
    """
    return _even_parts("allgather", comm, send, recv, (1, comm.size))


def _allgatherv(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike, recvcounts: Any, rdispls: Any = None) -> Call:
    """All rows of every rank: ``recvcounts[k]`` of rank k, at row ``rdispls[k]``, or one block after the other.

    >>> counts = range(comm.size)
    >>> received = np.zeros(sum(counts))
    >>> laneway.allgatherv(comm, np.full(comm.rank, float(comm.rank)), received, counts)
    >>> received.tolist() == [rank for rank in counts for _ in range(rank)]
    True
    """
    sending, sent = _equal("allgatherv", comm, "send", send, 1)
    receiving, received = _uneven("allgatherv", comm, "recv", recv, recvcounts, rdispls)
    return Call("allgatherv", [*sending, *receiving], [sent, received], [])


def _gather(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike | None = None, root: int = 0) -> Call:
    """All rows of every rank at `root`. `recv` is None elsewhere.

    >>> x = np.zeros(comm.size) if comm.rank == 0 else None
    >>> laneway.gather(comm, np.array([float(comm.rank)]), x)
    >>> x is None or x.tolist() == list(range(comm.size))
    True
    """
    return _even_parts("gather", comm, send, recv, (1, comm.size), root)


def _gatherv(
    comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike | None = None, recvcounts: Any = None, rdispls: Any = None, root: int = 0
) -> Call:
    """All rows of every rank at `root`: ``recvcounts[k]`` of rank k. `recv` and `recvcounts` are None elsewhere.

    >>> counts = range(comm.size)
    >>> x = np.zeros(sum(counts)) if comm.rank == 0 else None
    >>> laneway.gatherv(comm, np.full(comm.rank, float(comm.rank)), x, counts if comm.rank == 0 else None)
    >>> x is None or x.tolist() == [rank for rank in counts for _ in range(rank)]
    True
    """
    sending, sent = _equal("gatherv", comm, "send", send, 1)
    receiving, received = _uneven("gatherv", comm, "recv", recv, recvcounts, rdispls, comm.rank == root)
    return Call("gatherv", [*sending, *receiving, *_root(root)], [sent, received], [])


def _scatter(comm: MPI.Comm, send: ArrayLike | None, recv: ArrayOrInPlace, root: int = 0) -> Call:
    """Equally many rows of `root` to every rank. `send` is None elsewhere.

    >>> part = np.zeros(1)
    >>> laneway.scatter(comm, np.arange(float(comm.size)) if comm.rank == 0 else None, part)
    >>> bool(part[0] == comm.rank)
    True
    """
    return _even_parts("scatter", comm, send, recv, (comm.size, 1), root)


def _scatterv(comm: MPI.Comm, send: ArrayLike | None, sendcounts: Any, recv: ArrayOrInPlace, sdispls: Any = None, root: int = 0) -> Call:
    """``sendcounts[k]`` rows of `root` to rank k. `send` and `sendcounts` are None elsewhere.

    >>> at_root = (np.ones(sum(range(comm.size))), range(comm.size)) if comm.rank == 0 else (None, None)
    >>> part = np.zeros(comm.rank)
    >>> laneway.scatterv(comm, *at_root, part)
    >>> part.tolist() == [1] * comm.rank
    True
    """
    sending, sent = _uneven("scatterv", comm, "send", send, sendcounts, sdispls, comm.rank == root)
    receiving, received = _equal("scatterv", comm, "recv", recv, 1)
    return Call("scatterv", [*sending, *receiving, *_root(root)], [sent, received], [])


def _bcast(comm: MPI.Comm, buffer: ArrayLike, root: int = 0) -> Call:
    """The rows of `root` on every rank.

    >>> x = np.full(3, float(comm.rank))
    >>> laneway.bcast(comm, x, root=0)
    >>> x
    array([0., 0., 0.])
    """
    array = describe(buffer, "buffer", writable=comm.rank != root)
    return Call("bcast", [pointer(array), _library.Count(array.shape[0]), row_handle(array), *_root(root)], [array], [])


def _reduce(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike | None = None, op: MPI.Op = MPI.SUM, root: int = 0) -> Call:
    """The arrays of all ranks combined, at `root`. `recv` is None elsewhere.

    >>> largest = np.zeros(1) if comm.rank == 0 else None
    >>> laneway.reduce(comm, np.array([float(comm.rank)]), largest, op=MPI.MAX)
    >>> largest is None or bool(largest[0] == comm.size - 1)
    True
    """
    return _reduction("reduce", comm, send, recv, op, root=root)


def _allreduce(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike, op: MPI.Op = MPI.SUM) -> Call:
    """The arrays of all ranks combined, on every rank.

    >>> x = np.ones(2)
    >>> laneway.allreduce(comm, MPI.IN_PLACE, x)
    >>> x.tolist() == [comm.size] * 2
    True
    """
    return _reduction("allreduce", comm, send, recv, op)


def _reduce_scatter(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike, recvcounts: Any, op: MPI.Op = MPI.SUM) -> Call:
    """The arrays of all ranks combined, ``recvcounts[k]`` rows on rank k.

    >>> part = np.zeros(comm.rank)
    >>> laneway.reduce_scatter(comm, np.ones(sum(range(comm.size))), part, range(comm.size))
    >>> part.tolist() == [comm.size] * comm.rank
    True
    """
    return _reduction("reduce_scatter", comm, send, recv, op, recvcounts)


def _reduce_scatter_block(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike, op: MPI.Op = MPI.SUM) -> Call:
    """The arrays of all ranks combined, an equal part on each.

    >>> part = np.zeros(2)
    >>> laneway.reduce_scatter_block(comm, np.ones(2 * comm.size), part)
    >>> part.tolist() == [comm.size] * 2
    True
    """
    return _reduction("reduce_scatter_block", comm, send, recv, op, parts=comm.size)


def _scan(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike, op: MPI.Op = MPI.SUM) -> Call:
    """The arrays of this rank and all before it combined.

    >>> x = np.zeros(1)
    >>> laneway.scan(comm, np.ones(1), x)
    >>> bool(x[0] == comm.rank + 1)
    True
    """
    return _reduction("scan", comm, send, recv, op)


def _exscan(comm: MPI.Comm, send: ArrayOrInPlace, recv: ArrayLike | None, op: MPI.Op = MPI.SUM) -> Call:
    """The arrays of all ranks before this one combined; `recv` of rank 0 stays as it is.

    >>> begin = np.zeros(1, dtype=int)
    >>> laneway.exscan(comm, np.array([7]), begin)  # each rank has 7 elements: where its own begin
    >>> bool(begin[0] == 7 * comm.rank)
    True
    """
    return _reduction("exscan", comm, send, recv, op)


def _barrier(comm: MPI.Comm) -> Call:
    """Return when all ranks have come here."""
    return Call("barrier", [], [], [])


alltoall, ialltoall, alltoall_init = forms(_alltoall, _RUNNERS)
alltoallv, ialltoallv, alltoallv_init = forms(_alltoallv, _RUNNERS)
allgather, iallgather, allgather_init = forms(_allgather, _RUNNERS)
allgatherv, iallgatherv, allgatherv_init = forms(_allgatherv, _RUNNERS)
gather, igather, gather_init = forms(_gather, _RUNNERS)
gatherv, igatherv, gatherv_init = forms(_gatherv, _RUNNERS)
scatter, iscatter, scatter_init = forms(_scatter, _RUNNERS)
scatterv, iscatterv, scatterv_init = forms(_scatterv, _RUNNERS)
bcast, ibcast, bcast_init = forms(_bcast, _RUNNERS)
reduce, ireduce, reduce_init = forms(_reduce, _RUNNERS)
allreduce, iallreduce, allreduce_init = forms(_allreduce, _RUNNERS)
reduce_scatter, ireduce_scatter, reduce_scatter_init = forms(_reduce_scatter, _RUNNERS)
reduce_scatter_block, ireduce_scatter_block, reduce_scatter_block_init = forms(_reduce_scatter_block, _RUNNERS)
scan, iscan, scan_init = forms(_scan, _RUNNERS)
exscan, iexscan, exscan_init = forms(_exscan, _RUNNERS)
barrier, ibarrier, barrier_init = forms(_barrier, _RUNNERS)


def _numbers(where: str, what: str, given: Any, ranks: int, writable: bool = False) -> Array:
    """An array of C ints, one for each rank, that the library reads or writes in each exchange."""
    array = describe(given, f"{where}: {what}", writable)
    if array.shape != (ranks,) or array.dtype != np.dtype(np.intc) or not is_contiguous(array):
        found = f"shape {array.shape}, strides {array.strides}, dtype {array.dtype}"
        raise ValueError(f"{where}: {what} has {found}; expected {ranks} contiguous {np.dtype(np.intc)}")
    return array


def alltoallv_counted_init(
    comm: MPI.Comm,
    send: ArrayLike,
    sendcounts: ArrayLike,
    recv: ArrayLike,
    recvcounts: ArrayLike,
    recvcapacities: Any,
    sdispls: Any = None,
    rdispls: Any = None,
    **hints: object,
) -> Request:
    """As `alltoallv_init`, with counts that the exchange reads when it starts: ``sendcounts[k]`` rows to rank k. From rank k up to
    ``recvcapacities[k]`` rows can come; how many have is written to ``recvcounts[k]``. Both are arrays of C ints (``np.intc``), on a
    device or not. Without displacements, what is sent, and rooms, follow each other. Collective.

    >>> sendcounts, recvcounts = np.zeros(comm.size, np.intc), np.zeros(comm.size, np.intc)
    >>> x, y = np.full(2 * comm.size, float(comm.rank)), np.zeros((comm.size, 2))
    >>> request = laneway.alltoallv_counted_init(comm, x, sendcounts, y.reshape(-1), recvcounts, [2] * comm.size)
    >>> for step in range(3):
    ...     sendcounts[:] = step
    ...     with request:
    ...         pass
    ...     print(bool((recvcounts == step).all()))
    True
    True
    True
    >>> y[-1].tolist() == [comm.size - 1] * 2
    True
    """
    where = f"alltoallv_counted: rank {comm.rank}"
    sent, received = describe(send, "send"), describe(recv, "recv", True)
    for what, array in (("send", sent), ("recv", received)):
        if not is_contiguous(array):
            raise ValueError(f"{where}: {what} is not contiguous")
    counts = _numbers(where, "sendcounts", sendcounts, comm.size), _numbers(where, "recvcounts", recvcounts, comm.size, True)
    rooms = Blocks(where, "recv", received.shape[0], recvcapacities, rdispls, comm.size, "ranks")
    begins = None if sdispls is None else _library.ints(integers(sdispls, f"{where}: sdispls"), f"{where}: sdispls")
    if begins is not None and len(begins) != comm.size:
        raise ValueError(f"{where}: sdispls has {len(begins)} entries, and there are {comm.size} ranks")
    in_rooms = [_library.ints(each, f"{where}: recv") for each in (rooms.counts, rooms.displs)]
    arguments = [pointer(sent), pointer(counts[0]), begins, row_handle(sent), pointer(received), pointer(counts[1]), *in_rooms]
    with _library.Hints(hints) as info:
        arguments += [row_handle(received), _library.handle(comm)]
        made: Request = make("LNW_Alltoallv_counted_init", arguments, [sent, received], [comm, *counts], info, takes_stream=False)
        return made
