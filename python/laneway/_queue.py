"""Queues: exchanges that a stream, or an in-order queue of host tasks, starts and waits for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Literal

from laneway import _library
from laneway._request import Request, _states

_KINDS = {"host": 1, "cuda": 2, "hip": 3, "sim": 4}
_BY_HOST = 16
_ALL_STARTED = -1
_CALLED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Statistics(ctypes.Structure):
    _fields_ = tuple((name, _library.Count) for name in ("exchanges", "triggers", "completions", "unfinished"))


class Queue:
    """A stream of a device, or an in-order queue of host tasks (`kind` ``"host"``, which takes no `stream`), with persistent requests
    in it. `stream` is the address that the vendor's library gives, 0 its default stream. With `by_host` no thread of the library
    advances the queue: ``progress`` and ``synchronize`` do. One thread at a time uses a queue.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> comm = MPI.COMM_WORLD
    >>> ring = laneway.Topology(comm, [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size])
    >>> x, received = np.zeros(1), np.zeros(1)
    >>> request = ring.allgather_init(x, received)
    >>> with laneway.Queue(by_host=True) as queue:
    ...     queue.call(lambda: x.fill(comm.rank))
    ...     queue.start(request)
    ...     queue.wait(request)
    ...     queue.synchronize()
    >>> bool(received[0] == (comm.rank - 1) % comm.size)
    True
    """

    def __init__(self, kind: Literal["host", "cuda", "hip", "sim"] = "host", stream: int | None = None, by_host: bool = False) -> None:
        if kind not in _KINDS:
            raise ValueError(f"Queue: kind is {kind!r}, expected one of {', '.join(_KINDS)}")
        self._state, self._called = ctypes.c_void_p(), list[object]()
        which = _KINDS[kind] + (_BY_HOST if by_host else 0)
        _library.call("LNW_Queue_init", ctypes.byref(self._state), ctypes.c_int(which), ctypes.c_void_p(stream))

    def start(self, *requests: Request) -> None:
        """Exchanges begin, together, when all that was put into the stream before is done."""
        if len(requests) == 1:
            _library.call("LNW_Enqueue_start", self._state, requests[0]._reference)
        else:
            _library.call("LNW_Enqueue_startall", self._state, ctypes.c_int(len(requests)), _states(requests))
        self._called += requests

    def wait(self, *requests: Request) -> None:
        """What is put into the stream after comes after these exchanges; without requests, after all that were started in it."""
        if len(requests) == 1:
            _library.call("LNW_Enqueue_wait", self._state, requests[0]._reference)
        else:
            number = ctypes.c_int(len(requests) or _ALL_STARTED)
            _library.call("LNW_Enqueue_waitall", self._state, number, _states(requests))

    def ready(self, request: Request, partition: int) -> None:
        """As ``Partitioned.ready`` when all that was put into the stream before is done."""
        _library.call("LNW_Enqueue_ready", self._state, request._state, _library.integer(partition, "partition"))

    def ready_edge(self, request: Request, edge: int, partition: int = 0) -> None:
        """As ``Partitioned.ready_edge`` when all that was put into the stream before is done."""
        place = (_library.integer(edge, "edge"), _library.integer(partition, "partition"))
        _library.call("LNW_Enqueue_ready_edge", self._state, request._state, *place)

    def call(self, function: Callable[[], object]) -> None:
        """Call `function` when all that was put into the stream before is done; the stream waits for it. It calls neither MPI nor
        this library nor the device; an exception in it is written, and ignored."""
        called = _CALLED(lambda _: function() and None)
        _library.call("LNW_Enqueue_call", self._state, called, None)
        self._called.append(called)

    def synchronize(self) -> None:
        """Return when all that is in the queue and its stream is done. Error: that of the first exchange that has failed."""
        _library.call("LNW_Queue_wait", self._state)
        self._called.clear()

    def progress(self) -> bool:
        """Advance the queue once; whether nothing of it is left to be done."""
        flag = ctypes.c_int()
        _library.call("LNW_Queue_progress", self._state, ctypes.byref(flag))
        return flag.value != 0

    @property
    def statistics(self) -> dict[str, int]:
        """Since the queue was made: ``exchanges``, ``triggers``, ``completions``, and what is ``unfinished``."""
        found = _Statistics()
        _library.call("LNW_Queue_get_statistics_sized", self._state, ctypes.c_size_t(ctypes.sizeof(found)), ctypes.byref(found))
        return {str(field[0]): getattr(found, field[0]) for field in _Statistics._fields_}

    def free(self) -> None:
        """Free a queue in which nothing is left to be done; the stream remains the program's."""
        if self._state:
            _library.call("LNW_Queue_free", ctypes.byref(self._state))

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *_: object) -> None:
        if self._state:
            self.synchronize()
        self.free()
