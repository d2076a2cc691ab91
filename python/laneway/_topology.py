"""Neighbours, and the operations between them."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, ArrayLike, describe, pointer, row_handle, synchronize
from laneway._forms import Call, Runners, forms
from laneway._request import Request, make


def _release(state: ctypes.c_void_p) -> None:
    if state and not MPI.Is_finalized():
        _library.loaded().LNW_Topology_free(ctypes.byref(state))


class _Side:
    """The arguments of one side of an alltoallv: counts and displacements of rows, checked against the array."""

    def __init__(self, call: str, what: str, rank: int, array: Array, counts: Any, displs: Any, degree: int) -> None:
        self.array = array
        self.counts = np.ascontiguousarray(counts, dtype=np.int64)
        ends = np.cumsum(self.counts)
        self.displs = ends - self.counts if displs is None else np.ascontiguousarray(displs, dtype=np.int64)
        for name, values in ((f"{what}counts", self.counts), (f"{what[0]}displs", self.displs)):
            if values.shape != (degree,):
                raise ValueError(f"{call}: rank {rank}: {name} has shape {values.shape}, and there are {degree} neighbours")
            if degree and values.min() < 0:
                raise ValueError(f"{call}: rank {rank}: {name}[{int(values.argmin())}] is {values.min()}")
        used = (self.displs + self.counts)[self.counts > 0]
        if used.size and used.max() > array.shape[0]:
            raise ValueError(f"{call}: rank {rank}: {what}counts and displacements reach row {used.max()} of {array.shape[0]}")

    def arguments(self) -> list[Any]:
        pointers = [ctypes.c_void_p(values.ctypes.data) for values in (self.counts, self.displs)]
        return [pointer(self.array), *pointers, row_handle(self.array)]


def _blocking(topology: Topology, call: Call) -> None:
    # `call` holds the arrays that the pointers of its arguments look into.
    synchronize(*call.arrays)
    _library.call(f"LNW_Neighbor_{call.name}_topology_c", *call.arguments, topology._state)


def _nonblocking(topology: Topology, call: Call) -> Request:
    return make(f"LNW_Ineighbor_{call.name}_topology_c", [*call.arguments, topology._state], call.arrays, call.kept)


def _persistent(topology: Topology, call: Call, hints: dict[str, object]) -> Request:
    with _library.Hints(hints) as info:
        return make(f"LNW_Neighbor_{call.name}_init_topology_c", [*call.arguments, topology._state], call.arrays, call.kept, info)


_RUNNERS = Runners(_blocking, _nonblocking, _persistent)


class Topology:
    """The ranks that this one receives from and sends to. Collective over `comm`; keeps no communicator of its own.

    `sources` and `destinations` may name a rank several times, and this rank. Hints are keyword arguments
    (``strategy="three_step"`` is ``lnw_strategy``) and hold for all operations on the topology.

    Arrays are split along their first axis: counts and displacements count rows. They may have any dtype and strides;
    nothing is copied. Each operation has three forms: ``alltoallv`` blocks, ``ialltoallv`` returns a Request that is
    under way, ``alltoallv_init`` plans once and returns a Request to start again and again. The stream that an array on a
    device names orders a persistent operation; in the other forms the host waits for it at the start.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    >>> ring = laneway.Topology(MPI.COMM_WORLD, sources=[(rank - 1) % size], destinations=[(rank + 1) % size])
    >>> received = np.zeros(1)
    >>> ring.alltoallv(np.array([float(rank)]), [1], received, [1])
    >>> bool(received[0] == (rank - 1) % size)
    True
    """

    def __init__(self, comm: MPI.Comm, sources: Sequence[int], destinations: Sequence[int], **hints: object) -> None:
        self.comm = comm
        self.sources, self.destinations = [int(s) for s in sources], [int(d) for d in destinations]
        self._state = ctypes.c_void_p()
        with _library.Hints(hints) as info:
            _library.call(
                "LNW_Topology_create", _library.handle(comm),
                len(self.sources), _library.ints(self.sources), _library.ints([1] * len(self.sources)),
                len(self.destinations), _library.ints(self.destinations), _library.ints([1] * len(self.destinations)),
                info, ctypes.byref(self._state),
            )  # fmt: skip
        self._finalizer = weakref.finalize(self, _release, self._state)

    def free(self) -> None:
        """Free the topology. Requests made on it live on."""
        if self._state:
            _library.call("LNW_Topology_free", ctypes.byref(self._state))

    def __repr__(self) -> str:
        return f"Topology(sources={self.sources}, destinations={self.destinations})"

    def _v(self, call: str, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any, rdispls: Any) -> Call:
        sending = _Side(call, "send", self.comm.rank, describe(send, "send"), sendcounts, sdispls, len(self.destinations))
        receiving = _Side(call, "recv", self.comm.rank, describe(recv, "recv", True), recvcounts, rdispls, len(self.sources))
        return Call(call, sending.arguments() + receiving.arguments(), [sending.array, receiving.array], [sending, receiving, self])

    def _equal(self, call: str, send: Any, recv: Any, parts: int) -> Call:
        arrays, arguments = [describe(send, "send"), describe(recv, "recv", True)], []
        for what, array, pieces in (("send", arrays[0], parts), ("recv", arrays[1], len(self.sources))):
            if pieces and array.shape[0] % pieces:
                raise ValueError(f"{call}: rank {self.comm.rank}: {what} has {array.shape[0]} rows for {pieces} neighbours")
            arguments += [pointer(array), _library.Count(array.shape[0] // pieces if pieces else 0), row_handle(array)]
        return Call(call, arguments, arrays, [self])

    def _alltoallv(
        self, send: ArrayLike, sendcounts: Any, recv: ArrayLike, recvcounts: Any, sdispls: Any = None, rdispls: Any = None
    ) -> Call:
        """Send ``sendcounts[k]`` rows to the k-th destination, receive ``recvcounts[k]`` from the k-th source. Without
        displacements, blocks follow each other."""
        return self._v("alltoallv", send, sendcounts, recv, recvcounts, sdispls, rdispls)

    def _allgather(self, send: ArrayLike, recv: ArrayLike) -> Call:
        """Send all of `send` to every destination. `recv` has equally many rows for each source, in their order.

        >>> rank, size = comm.rank, comm.size
        >>> ring = laneway.Topology(comm, [(rank - 1) % size, (rank + 1) % size], [(rank + 1) % size, (rank - 1) % size])
        >>> received = np.zeros(2)
        >>> ring.allgather(np.array([float(rank)]), received)
        >>> received.tolist() == ring.sources
        True
        """
        return self._equal("allgather", send, recv, 1)

    def _allgatherv(self, send: ArrayLike, recv: ArrayLike, recvcounts: Any, rdispls: Any = None) -> Call:
        """Send all of `send` to every destination, receive ``recvcounts[k]`` rows from the k-th source.

        >>> rank, size = comm.rank, comm.size
        >>> ring = laneway.Topology(comm, [(rank - 1) % size], [(rank + 1) % size])
        >>> received = np.zeros(ring.sources[0])
        >>> ring.allgatherv(np.full(rank, 1.5), received, [len(received)])
        >>> bool((received == 1.5).all())
        True
        """
        sending = describe(send, "send")
        receiving = _Side("allgatherv", "recv", self.comm.rank, describe(recv, "recv", True), recvcounts, rdispls, len(self.sources))
        arguments = [pointer(sending), _library.Count(sending.shape[0]), row_handle(sending), *receiving.arguments()]
        return Call("allgatherv", arguments, [sending, receiving.array], [receiving, self])

    def _alltoall(self, send: ArrayLike, recv: ArrayLike) -> Call:
        """Send equally many rows of `send` to each destination, receive equally many from each source.

        >>> rank, size = comm.rank, comm.size
        >>> pair = laneway.Topology(comm, [(rank - 1) % size, rank], [(rank + 1) % size, rank])
        >>> received = np.zeros((2, 3))
        >>> pair.alltoall(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), received)
        >>> received
        array([[1., 2., 3.],
               [4., 5., 6.]])
        """
        return self._equal("alltoall", send, recv, len(self.destinations))

    def _reduce(
        self,
        send: ArrayLike,
        sendcounts: Any,
        recv: ArrayLike,
        recvcounts: Any,
        op: MPI.Op = MPI.SUM,
        sdispls: Any = None,
        rdispls: Any = None,
    ) -> Call:
        """As `alltoallv`, but what arrives is combined with what is in `recv`: ``recv = recv op arrived``. A row may be named
        by several sources. The result is the same in every run.

        >>> rank, size = comm.rank, comm.size
        >>> ring = laneway.Topology(comm, [(rank - 1) % size, (rank + 1) % size], [(rank + 1) % size, (rank - 1) % size])
        >>> x = np.array([10.0])
        >>> ring.reduce(np.array([1.0, 2.0]), [1, 1], x, [1, 1], rdispls=[0, 0])
        >>> x
        array([13.])
        """
        call = self._v("reduce", send, sendcounts, recv, recvcounts, sdispls, rdispls)
        return Call("reducev", [*call.arguments, _library.handle(op)], call.arrays, call.kept)

    alltoallv, ialltoallv, alltoallv_init = forms(_alltoallv, _RUNNERS)
    allgather, iallgather, allgather_init = forms(_allgather, _RUNNERS)
    allgatherv, iallgatherv, allgatherv_init = forms(_allgatherv, _RUNNERS)
    alltoall, ialltoall, alltoall_init = forms(_alltoall, _RUNNERS)
    reduce, ireduce, reduce_init = forms(_reduce, _RUNNERS)

    def indexed_init(
        self,
        send: ArrayLike,
        sendcounts: Any,
        sendindices: Any,
        recv: ArrayLike,
        recvcounts: Any,
        recvindices: Any,
        op: MPI.Op | None = None,
        **hints: object,
    ) -> Request:
        """A persistent alltoallv of any rows: the k-th destination gets the rows of the next ``sendcounts[k]`` entries of
        `sendindices`, and what the k-th source sends goes to rows `recvindices`. With `op` it is combined there. Collective.
        `send` and `recv` may be one array.

        >>> rank, size = comm.rank, comm.size
        >>> ring = laneway.Topology(comm, [(rank - 1) % size], [(rank + 1) % size])
        >>> x = np.array([10.0 * rank, 10.0 * rank + 1, 0.0, 0.0])
        >>> with ring.indexed_init(x, [2], [1, 0], x, [2], [3, 2]):  # rows 1 and 0 go to rows 3 and 2
        ...     pass
        >>> x[2:].tolist() == [10.0 * ring.sources[0], 10.0 * ring.sources[0] + 1]
        True
        """
        sending, receiving = describe(send, "send"), describe(recv, "recv", True)
        arguments: list[Any] = []
        kept: list[Any] = [self]
        for array, counts, indices in ((sending, sendcounts, sendindices), (receiving, recvcounts, recvindices)):
            chosen = np.ascontiguousarray(indices, dtype=np.int64)
            counted = np.ascontiguousarray(counts, dtype=np.int64)
            kept += [chosen, counted]
            # The argument for the datatype is the row's; its extent is the distance of two rows.
            arguments += [
                pointer(array), _library.Count(array.shape[0]), ctypes.c_void_p(counted.ctypes.data),
                ctypes.c_void_p(chosen.ctypes.data), row_handle(array),
            ]  # fmt: skip
        name = "alltoallv" if op is None else "reducev"
        with _library.Hints(hints) as info:
            operator = [] if op is None else [_library.handle(op)]
            function = f"LNW_Neighbor_{name}_init_indexed_topology_c"
            return make(function, [*arguments, *operator, self._state], [sending, receiving], kept, info)
