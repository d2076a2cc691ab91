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
from laneway._partitioned import Partitioned
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

    @classmethod
    def _of(cls, comm: MPI.Comm, function: str, *arguments: Any) -> Topology:
        """What a function of the library makes, with the neighbours that it has found."""
        made, degrees = cls.__new__(cls), (ctypes.c_int(), ctypes.c_int())
        made.comm, made._state = comm, ctypes.c_void_p()
        _library.call(function, *arguments, ctypes.byref(made._state), *([None] if function.startswith("LNW_Topology_create") else []))
        made._finalizer = weakref.finalize(made, _release, made._state)
        _library.call("LNW_Topology_get_neighbors_count", made._state, *(ctypes.byref(each) for each in degrees))
        lists = [(ctypes.c_int * max(each.value, 1))() for each in degrees]
        _library.call("LNW_Topology_get_neighbors", made._state, degrees[0], lists[0], degrees[1], lists[1])
        made.sources, made.destinations = (list(found[: each.value]) for found, each in zip(lists, degrees, strict=True))
        return made

    @classmethod
    def from_comm(cls, comm: MPI.Comm) -> Topology:
        """The neighbours, and the hints, of a distributed-graph, graph or Cartesian communicator of mpi4py. Collective.

        >>> grid = comm.Create_cart([comm.size], periods=[True])
        >>> laneway.Topology.from_comm(grid).sources == [(comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size]
        True
        """
        return cls._of(comm, "LNW_Topology_from_comm", _library.handle(comm))

    def shrink(self, comm: MPI.Comm) -> Topology:
        """The same neighbours, and hints, among the ranks of `comm`, which has some of the ranks: those that are left after one has
        died, say. MPI.PROC_NULL is in place of neighbours that are gone, so that arrays keep their layout. Collective over `comm`.

        >>> ring = laneway.Topology(comm, [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size])
        >>> alone = ring.shrink(comm.Split(comm.rank))
        >>> alone.sources == [MPI.PROC_NULL if comm.size > 1 else 0]
        True
        """
        return self._of(comm, "LNW_Topology_shrink", self._state, _library.handle(comm))

    @classmethod
    def shrink_comm(cls, comm_old: MPI.Comm, comm: MPI.Comm) -> Topology:
        """The same of a communicator with a topology, as `from_comm` takes it."""
        return cls._of(comm, "LNW_Topology_shrink_comm", _library.handle(comm_old), _library.handle(comm))

    @classmethod
    def _one_side(cls, comm: MPI.Comm, function: str, ranks: Ranks, what: str, hints: dict[str, object]) -> Topology:
        known = [operator.index(rank) for rank in ranks]
        weights = _library.ints([1] * len(known), "weights")
        with _library.Hints(hints) as info:
            return cls._of(comm, function, _library.handle(comm), len(known), _library.ints(known, what), weights, info)

    @classmethod
    def from_destinations(cls, comm: MPI.Comm, destinations: Ranks, **hints: object) -> Topology:
        """From the ranks that this one sends to alone; who sends to it is found. Collective.

        >>> ring = laneway.Topology.from_destinations(comm, [(comm.rank + 1) % comm.size])
        >>> ring.sources == [(comm.rank - 1) % comm.size]
        True
        """
        return cls._one_side(comm, "LNW_Topology_create_from_destinations", destinations, "destinations", hints)

    @classmethod
    def from_sources(cls, comm: MPI.Comm, sources: Ranks, **hints: object) -> Topology:
        """From the ranks that this one needs something from; who needs something from it is found. Collective."""
        return cls._one_side(comm, "LNW_Topology_create_from_sources", sources, "sources", hints)

    def __enter__(self) -> Topology:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

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
        partitions: tuple[Any, Any] | None = None,
        **hints: object,
    ) -> Any:
        """A persistent alltoallv of any rows: the k-th destination gets the rows of the next ``sendcounts[k]`` entries of
        `sendindices`, and what the k-th source sends goes to rows `recvindices`. With `op` it is combined there. Collective.
        `send` and `recv` may be one array. With `partitions`, one list of numbers for the destinations and one for the sources, the
        request is a Partitioned, and blocks leave in so many parts.

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
        if partitions is not None:
            if op is not None:
                raise ValueError(f"{where}: op: partitions are written, not combined")
            function = "LNW_Neighbor_alltoallv_init_indexed_partitioned_topology_c"
            arguments += self._partitions("indexed_init", partitions)
        with _library.Hints(hints) as info:
            kind = Request if partitions is None else Partitioned
            return make(function, [*arguments, self._state], [sending, receiving], [self], info, kind=kind)

    def _partitions(self, call: str, partitions: tuple[Any, Any]) -> list[Any]:
        found = []
        for what, numbers, degree in zip(("send", "recv"), partitions, (len(self.destinations), len(self.sources)), strict=True):
            given = [operator.index(number) for number in numbers]
            if len(given) != degree or min(given, default=1) < 1:
                raise ValueError(f"{call}: rank {self.comm.rank}: {what}partitions is {given}, and there are {degree} neighbours")
            found.append(_library.ints(given, f"{what}partitions"))
        return found

    def partitioned_init(
        self,
        send: ArrayLike,
        sendcounts: Any,
        sendpartitions: Any,
        recv: ArrayLike,
        recvcounts: Any,
        recvpartitions: Any,
        sdispls: Any = None,
        rdispls: Any = None,
        **hints: object,
    ) -> Partitioned:
        """A persistent alltoallv whose blocks leave in parts, as each is ready: the block of ``sendcounts[k]`` rows for the k-th
        destination in ``sendpartitions[k]``. Both sides choose their own numbers. Collective.

        >>> rank, size = comm.rank, comm.size
        >>> ring = laneway.Topology(comm, [(rank - 1) % size], [(rank + 1) % size])
        >>> x, received = np.zeros(4), np.zeros(4)
        >>> request = ring.partitioned_init(x, [4], [2], received, [4], [2])
        >>> with request:
        ...     for part in (1, 0):
        ...         x[2 * part : 2 * part + 2] = 10.0 * rank + part
        ...         request.ready_edge(0, part)
        >>> (received - 10.0 * ring.sources[0]).tolist()
        [0.0, 0.0, 1.0, 1.0]
        """
        call = self._v("partitioned_init", send, sendcounts, recv, recvcounts, sdispls, rdispls)
        parts = self._partitions("partitioned_init", (sendpartitions, recvpartitions))
        with _library.Hints(hints) as info:
            arguments = [*call.arguments, *parts, self._state]
            name = "LNW_Neighbor_alltoallv_init_partitioned_topology_c"
            return make(name, arguments, call.arrays, [self], info, kind=Partitioned)


def _made_comm(function: str, *arguments: Any) -> MPI.Distgraphcomm:
    made = MPI.Distgraphcomm()
    _library.call(function, *arguments, ctypes.c_void_p(MPI._addressof(made)))
    return made


def _weights(values: Any, what: str) -> Any:
    return ctypes.c_void_p(int(MPI.UNWEIGHTED)) if values is None else _library.ints(values, what)


def dist_graph_create_adjacent(
    comm: MPI.Comm,
    sources: Ranks,
    destinations: Ranks,
    sourceweights: Any = None,
    destweights: Any = None,
    reorder: bool = False,
    **hints: object,
) -> MPI.Distgraphcomm:
    """As MPI's ``Create_dist_graph_adjacent``, with the library's reordering: where `reorder` is true, ranks with heavy edges
    between them come to one node. Weights are of all edges or of none. Collective.

    >>> ring = laneway.dist_graph_create_adjacent(comm, [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size])
    >>> ring.Get_dist_neighbors_count()[:2]
    (1, 1)
    >>> ring.Free()
    """
    with _library.Hints(hints) as info:
        return _made_comm(
            "LNW_Dist_graph_create_adjacent", _library.handle(comm),
            len(sources), _library.ints(sources, "sources"), _weights(sourceweights, "sourceweights"),
            len(destinations), _library.ints(destinations, "destinations"), _weights(destweights, "destweights"),
            info, ctypes.c_int(bool(reorder)),
        )  # fmt: skip


def dist_graph_create(
    comm: MPI.Comm, sources: Ranks, degrees: Any, destinations: Ranks, weights: Any = None, reorder: bool = False, **hints: object
) -> MPI.Distgraphcomm:
    """As MPI's ``Create_dist_graph``: each rank may say any edges. ``degrees[i]`` of the `destinations` are those of
    ``sources[i]``. Collective."""
    if sum(degrees) != len(destinations) or len(degrees) != len(sources):
        raise ValueError(f"dist_graph_create: rank {comm.rank}: {len(sources)} sources, degrees {list(degrees)}, {len(destinations)} edges")
    with _library.Hints(hints) as info:
        return _made_comm(
            "LNW_Dist_graph_create", _library.handle(comm), len(sources), _library.ints(sources, "sources"),
            _library.ints(degrees, "degrees"), _library.ints(destinations, "destinations"), _weights(weights, "weights"),
            info, ctypes.c_int(bool(reorder)),
        )  # fmt: skip


class _Reorder(ctypes.Structure):
    _fields_ = (
        *((name, _library.Count) for name in ("weight", "cut_before", "cut_after")),
        *((name, ctypes.c_int) for name in ("moved", "has_partitioner")),
    )


def reordering(comm: MPI.Distgraphcomm) -> dict[str, int]:
    """What reordering has brought to a communicator of ``dist_graph_create_adjacent``: the ``weight`` of all edges, those between
    nodes ``cut_before`` and ``cut_after``, how many processes have ``moved``, and whether the library ``has_partitioner``."""
    found = _Reorder()
    _library.call("LNW_Comm_get_reorder_sized", _library.handle(comm), ctypes.c_size_t(ctypes.sizeof(found)), ctypes.byref(found))
    return {str(field[0]): getattr(found, field[0]) for field in _Reorder._fields_}
