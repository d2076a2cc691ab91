"""Neighbours, and the operations between them."""

from __future__ import annotations

import ctypes
import operator
import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, ArrayLike, Blocks, check_operator, describe, integers, pointer, row_handle, synchronize
from laneway._forms import Call, Runners, forms
from laneway._request import Request, make

Ranks: TypeAlias = Sequence[int] | np.ndarray[Any, Any]


def _release(state: ctypes.c_void_p) -> None:
    if state and not MPI.Is_finalized():
        _library.loaded().LNW_Topology_free(ctypes.byref(state))


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

    def __init__(self, comm: MPI.Comm, sources: Ranks, destinations: Ranks, **hints: object) -> None:
        self.comm = comm
        self.sources, self.destinations = ([operator.index(rank) for rank in ranks] for ranks in (sources, destinations))
        self._state = ctypes.c_void_p()
        with _library.Hints(hints) as info:
            _library.call(
                "LNW_Topology_create", _library.handle(comm),
                len(self.sources), _library.ints(self.sources, "sources"), _library.ints([1] * len(self.sources), "weights"),
                len(self.destinations), _library.ints(self.destinations, "destinations"),
                _library.ints([1] * len(self.destinations), "weights"),
                info, ctypes.byref(self._state),
            )  # fmt: skip
        self._finalizer = weakref.finalize(self, _release, self._state)

    def free(self) -> None:
        """Free the topology. Requests made on it live on."""
        if self._state:
            _library.call("LNW_Topology_free", ctypes.byref(self._state))

    def __repr__(self) -> str:
        return f"Topology(sources={self.sources}, destinations={self.destinations})"

    def _side(self, call: str, what: str, array: Array, counts: Any, displs: Any) -> list[Any]:
        degree = len(self.destinations if what == "send" else self.sources)
        blocks = Blocks(f"{call}: rank {self.comm.rank}", what, array.shape[0], counts, displs, degree, "neighbours")
        return [pointer(array), *blocks.arguments(), row_handle(array)]

    def _v(self, call: str, send: Any, sendcounts: Any, recv: Any, recvcounts: Any, sdispls: Any, rdispls: Any) -> Call:
        sent, received = describe(send, "send"), describe(recv, "recv", True)
        sending = self._side(call, "send", sent, sendcounts, sdispls)
        return Call(call, [*sending, *self._side(call, "recv", received, recvcounts, rdispls)], [sent, received], [self])

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
        sent, received = describe(send, "send"), describe(recv, "recv", True)
        sending = [pointer(sent), _library.Count(sent.shape[0]), row_handle(sent)]
        return Call("allgatherv", [*sending, *self._side("allgatherv", "recv", received, recvcounts, rdispls)], [sent, received], [self])

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
        check_operator("reduce", self.comm.rank, op, call.arrays[1])
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
        where = f"indexed_init: rank {self.comm.rank}"
        arguments: list[Any] = []
        for what, array, counts, indices in (("send", sending, sendcounts, sendindices), ("recv", receiving, recvcounts, recvindices)):
            chosen = integers(indices, f"{where}: {what}indices").reshape(-1)
            degree = len(self.destinations if what == "send" else self.sources)
            blocks = Blocks(where, what, len(chosen), counts, None, degree, "neighbours")
            if (outside := np.flatnonzero((chosen < 0) | (chosen >= array.shape[0]))).size:
                place = int(outside[0])
                raise ValueError(f"{where}: {what}indices[{place}] is {int(chosen[place])}, and {what} has {array.shape[0]} rows")
            # The argument for the datatype is the row's; its extent is the distance of two rows.
            arguments += [
                pointer(array), _library.Count(array.shape[0]), _library.pointer_to(blocks.counts), _library.pointer_to(chosen),
                row_handle(array),
            ]  # fmt: skip
        if op is not None:
            check_operator("indexed_init", self.comm.rank, op, receiving)
            arguments.append(_library.handle(op))
        function = f"LNW_Neighbor_{'alltoallv' if op is None else 'reducev'}_init_indexed_topology_c"
        with _library.Hints(hints) as info:
            return make(function, [*arguments, self._state], [sending, receiving], [self], info)
