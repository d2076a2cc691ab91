"""Partitioned communication: data that leaves when it is ready, between two ranks and between neighbours.

>>> import numpy as np
>>> from mpi4py import MPI
>>> import laneway
>>> comm = MPI.COMM_WORLD
>>> x, y = np.arange(4.0), np.zeros(4)
>>> receiving = laneway.precv_init(comm, y, 2, (comm.rank - 1) % comm.size)
>>> sending = laneway.psend_init(comm, x, 4, (comm.rank + 1) % comm.size)
>>> with receiving, sending:
...     sending.ready(3)
...     sending.ready([0, 1, 2])
>>> y.tolist()
[0.0, 1.0, 2.0, 3.0]
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import ArrayLike, describe, pointer, row_handle
from laneway._request import Request, called_with_code, make


class Partitioned(Request):
    """A persistent request whose data leaves and arrives in partitions, which are numbered from 0. Edges are positions of
    destinations and sources of a topology, from 0. Any thread may say that a partition is ready."""

    def ready(self, partitions: int | Iterable[int]) -> None:
        """A partition, or several, of a message to one rank may leave: it is not written until the request is complete."""
        if isinstance(partitions, range) and partitions.step == 1 and len(partitions):
            _library.call("LNW_Pready_range", partitions.start, partitions.stop - 1, self._state)
        elif isinstance(partitions, Iterable):
            given = list(partitions)
            _library.call("LNW_Pready_list", len(given), _library.ints(given, "partitions"), self._state)
        else:
            _library.call("LNW_Pready", _library.integer(partitions, "partition"), self._state)

    def arrived(self, partition: int) -> bool:
        """Whether a partition of a message from one rank has arrived."""
        flag = ctypes.c_int()
        _library.call("LNW_Parrived", self._state, _library.integer(partition, "partition"), ctypes.byref(flag))
        return flag.value != 0

    def ready_edge(self, edge: int, partition: int = 0) -> None:
        """A partition of the block for a destination may leave."""
        _library.call("LNW_Pready_edge", self._state, _library.integer(edge, "edge"), _library.integer(partition, "partition"))

    def ready_word(self, partition: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """An array of one word that stands for ``ready``: whoever writes 1 there, such as a kernel, makes the partition ready.
        Once in an exchange; written before ``start``, it counts for the exchange that is started then. The library sets it back.
        The first call needs the request inactive."""
        return self._word("LNW_Pready_word", _library.integer(partition, "partition"))

    def ready_edge_word(self, edge: int, partition: int = 0) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """As ``ready_word``, for ``ready_edge``."""
        return self._word("LNW_Pready_edge_word", _library.integer(edge, "edge"), _library.integer(partition, "partition"))

    def _word(self, name: str, *place: ctypes.c_int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        address = ctypes.c_void_p()
        _library.call(name, self._state, *place, ctypes.byref(address))
        word = (ctypes.c_uint64 * 1).from_address(address.value or 0)
        word.request = self  # type: ignore[attr-defined]  # which lives as long as the array
        return np.ctypeslib.as_array(word)

    def arrived_edge(self, edge: int, partition: int = 0) -> bool:
        """Whether a partition of the block from a source has arrived."""
        flag, place = ctypes.c_int(), (_library.integer(edge, "edge"), _library.integer(partition, "partition"))
        _library.call("LNW_Parrived_edge", self._state, *place, ctypes.byref(flag))
        return flag.value != 0

    def wait_any_edge(self) -> tuple[int, int] | None:
        """The edge and the number of a partition that has arrived and was not given since the start, waiting until there is one;
        None where all were given."""
        edge, partition = ctypes.c_int(), ctypes.c_int()
        _library.call("LNW_Wait_any_edge", self._state, ctypes.byref(edge), ctypes.byref(partition))
        return None if edge.value == MPI.UNDEFINED else (edge.value, partition.value)

    def test_any_edge(self) -> tuple[int, int] | None:
        """As ``wait_any_edge`` without waiting: None, too, where no other has arrived yet."""
        edge, partition, flag = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        _library.call("LNW_Test_any_edge", self._state, ctypes.byref(edge), ctypes.byref(partition), ctypes.byref(flag))
        return (edge.value, partition.value) if flag.value and edge.value != MPI.UNDEFINED else None

    def on_arrival(self, edge: int, partition: int, function: Callable[[int], object] | None) -> None:
        """Have `function(code)` called in each exchange when the partition of a source has arrived; rules as of ``on_complete``."""
        called = called_with_code(function)
        place = (_library.integer(edge, "edge"), _library.integer(partition, "partition"))
        _library.call("LNW_Request_on_arrival", self._state, *place, called, None)
        self._kept.append(called)


def _init(name: str, comm: MPI.Comm, array: Any, partitions: int, peer: int, tag: int, hints: dict[str, object]) -> Partitioned:
    where = f"{name.removeprefix('LNW_').lower()}: rank {comm.rank}"
    number = _library.integer(partitions, f"{where}: partitions")
    if number.value < 1 or array.shape[0] % number.value:
        raise ValueError(f"{where}: {array.shape[0]} rows for {number.value} partitions")
    count = _library.Count(array.shape[0] // number.value)
    ranks = (_library.integer(peer, f"{where}: peer"), _library.integer(tag, f"{where}: tag"))
    arguments = [pointer(array), number, count, row_handle(array), *ranks, _library.handle(comm)]
    with _library.Hints(hints) as info:
        made: Partitioned = make(name, arguments, [array, None], [comm], info, False, Partitioned)
        return made


def psend_init(comm: MPI.Comm, send: ArrayLike, partitions: int, dest: int, tag: int = 0, **hints: object) -> Partitioned:
    """A request that sends the rows of `send` in so many equal partitions, each when it is ``ready``. Local."""
    return _init("LNW_Psend_init", comm, describe(send, "send"), partitions, dest, tag, hints)


def precv_init(comm: MPI.Comm, recv: ArrayLike, partitions: int, source: int, tag: int = 0, **hints: object) -> Partitioned:
    """A request that receives what ``psend_init`` with this tag sends, in partitions of its own number. Local."""
    return _init("LNW_Precv_init", comm, describe(recv, "recv", True), partitions, source, tag, hints)
