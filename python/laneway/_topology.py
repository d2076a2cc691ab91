"""Neighbours, and the operations between them."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, describe, pointer, row_handle, stream_of
from laneway._request import Request, make


_Parts = tuple[list[Any], list[Any], list[Any]]
"""Arguments of a C function, the arrays that a request binds, and what else has to live as long."""


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


class Topology:
    """The ranks that this one receives from and sends to. Collective over `comm`; keeps no communicator of its own.

    `sources` and `destinations` may name a rank several times, and this rank. Hints are keyword arguments
    (``strategy="three_step"`` is ``lnw_strategy``) and hold for all operations on the topology.

    Arrays are split along their first axis: counts and displacements count rows. They may have any dtype and strides;
    nothing is copied. Each operation has three forms: ``alltoallv`` blocks, ``ialltoallv`` returns a Request that is
    under way, ``alltoallv_init`` plans once and returns a Request to start again and again.

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

    def __init__(self, comm: Any, sources: Sequence[int], destinations: Sequence[int], **hints: object) -> None:
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

    def _v(self, call: str, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any, rdispls: Any) -> _Parts:
        sending = _Side(call, "send", self.comm.rank, describe(send, "send"), sendcounts, sdispls, len(self.destinations))
        receiving = _Side(call, "recv", self.comm.rank, describe(recv, "recv", True), recvcounts, rdispls, len(self.sources))
        return sending.arguments() + receiving.arguments(), [sending.array, receiving.array], [sending, receiving, self]

    def _equal(self, call: str, send: Any, recv: Any, split: bool) -> _Parts:
        sending, receiving = describe(send, "send"), describe(recv, "recv", True)
        rows = []
        for what, array, parts in (
            ("send", sending, len(self.destinations) if split else 1), ("recv", receiving, len(self.sources))
        ):  # fmt: skip
            if parts and array.shape[0] % parts:
                raise ValueError(f"{call}: rank {self.comm.rank}: {what} has {array.shape[0]} rows for {parts} neighbours")
            rows.append(array.shape[0] // parts if parts else 0)
        arguments = [
            pointer(sending), _library.Count(rows[0]), row_handle(sending),
            pointer(receiving), _library.Count(rows[1]), row_handle(receiving),
        ]  # fmt: skip
        return arguments, [sending, receiving], [self]

    def _blocking(self, name: str, parts: _Parts, *op: Any) -> None:
        # `parts` holds the arrays that the pointers of its arguments look into.
        if stream_of(*parts[1]) is not None:
            # Only persistent requests are ordered by a stream.
            request = self._persistent(name, parts, {}, *op)
            with request:
                pass
            request.free()
            return
        _library.call(f"LNW_Neighbor_{name}_topology_c", *parts[0], *op, self._state)

    def _nonblocking(self, name: str, parts: _Parts, *op: Any) -> Request:
        arguments, arrays, kept = parts
        return make(f"LNW_Ineighbor_{name}_topology_c", [*arguments, *op, self._state], arrays, kept)

    def _persistent(self, name: str, parts: _Parts, hints: dict[str, object], *op: Any) -> Request:
        arguments, arrays, kept = parts
        with _library.Hints(hints) as info:
            return make(f"LNW_Neighbor_{name}_init_topology_c", [*arguments, *op, self._state], arrays, kept, info)

    def alltoallv(self, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any = None, rdispls: Any = None) -> None:
        """Send ``sendcounts[k]`` rows to the k-th destination, receive ``recvcounts[k]`` from the k-th source. Without
        displacements, blocks follow each other."""
        self._blocking("alltoallv", self._v("alltoallv", send, sendcounts, recv, recvcounts, sdispls, rdispls))

    def ialltoallv(self, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any = None, rdispls: Any = None) -> Request:
        """The same, nonblocking."""
        return self._nonblocking("alltoallv", self._v("ialltoallv", send, sendcounts, recv, recvcounts, sdispls, rdispls))

    def alltoallv_init(
        self, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any = None, rdispls: Any = None, **hints: object
    ) -> Request:
        """The same, persistent. Collective."""
        parts = self._v("alltoallv_init", send, sendcounts, recv, recvcounts, sdispls, rdispls)
        return self._persistent("alltoallv", parts, hints)

    def allgather(self, send: Any, recv: Any) -> None:
        """Send all of `send` to every destination. `recv` has equally many rows for each source, in their order."""
        self._blocking("allgather", self._equal("allgather", send, recv, False))

    def iallgather(self, send: Any, recv: Any) -> Request:
        """The same, nonblocking."""
        return self._nonblocking("allgather", self._equal("iallgather", send, recv, False))

    def allgather_init(self, send: Any, recv: Any, **hints: object) -> Request:
        """The same, persistent. Collective."""
        return self._persistent("allgather", self._equal("allgather_init", send, recv, False), hints)

    def alltoall(self, send: Any, recv: Any) -> None:
        """Send equally many rows of `send` to each destination, receive equally many from each source."""
        self._blocking("alltoall", self._equal("alltoall", send, recv, True))

    def ialltoall(self, send: Any, recv: Any) -> Request:
        """The same, nonblocking."""
        return self._nonblocking("alltoall", self._equal("ialltoall", send, recv, True))

    def alltoall_init(self, send: Any, recv: Any, **hints: object) -> Request:
        """The same, persistent. Collective."""
        return self._persistent("alltoall", self._equal("alltoall_init", send, recv, True), hints)

    def reduce(
        self, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, op: Any = MPI.SUM, sdispls: Any = None, rdispls: Any = None
    ) -> None:
        """As `alltoallv`, but what arrives is combined with what is in `recv`: ``recv = recv op arrived``. A row may be named
        by several sources. The result is the same in every run."""
        parts = self._v("reduce", send, sendcounts, recv, recvcounts, sdispls, rdispls)
        self._blocking("reducev", parts, _library.handle(op))

    def ireduce(
        self, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, op: Any = MPI.SUM, sdispls: Any = None, rdispls: Any = None
    ) -> Request:
        """The same, nonblocking."""
        parts = self._v("ireduce", send, sendcounts, recv, recvcounts, sdispls, rdispls)
        return self._nonblocking("reducev", parts, _library.handle(op))

    def reduce_init(
        self, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, op: Any = MPI.SUM, sdispls: Any = None, rdispls: Any = None, **hints: object
    ) -> Request:
        """The same, persistent. Collective."""
        parts = self._v("reduce_init", send, sendcounts, recv, recvcounts, sdispls, rdispls)
        return self._persistent("reducev", parts, hints, _library.handle(op))

    def indexed_init(
        self, send: Any, sendcounts: Any, sendindices: Any, recv: Any, recvcounts: Any, recvindices: Any, op: Any = None, **hints: object
    ) -> Request:
        """A persistent alltoallv of any rows: the k-th destination gets the rows of the next ``sendcounts[k]`` entries of
        `sendindices`, and what the k-th source sends goes to rows `recvindices`. With `op` it is combined there. Collective.
        `send` and `recv` may be one array."""
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
