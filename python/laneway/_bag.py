"""Bags: short messages to any rank, whenever there is one to send."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import ArrayLike, describe, is_contiguous, pointer
from laneway._request import Request, make


class Bag:
    """Each rank sends messages to any ranks and takes what has arrived; nothing is matched. Collective over `comm`, as are ``flush``
    and ``free``. Hints: ``bag_memory``, ``progress``.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> comm = MPI.COMM_WORLD
    >>> with laneway.Bag(comm) as bag:
    ...     bag.send((comm.rank + 1) % comm.size, np.array([comm.rank, 7]))
    ...     bag.flush()
    ...     found = [(source, data.view(int).tolist()) for source, data in bag]
    >>> left = (comm.rank - 1) % comm.size
    >>> found == [(left, [left, 7])]
    True
    """

    def __init__(self, comm: MPI.Comm, **hints: object) -> None:
        self.comm, self._state = comm, ctypes.c_void_p()
        with _library.Hints(hints) as info:
            _library.call("LNW_Bag_create", _library.handle(comm), info, ctypes.byref(self._state))

    def send(self, destination: int, data: ArrayLike) -> None:
        """Send the bytes of a contiguous array in the host's memory; it may be written again at once."""
        array = describe(data, "data")
        if array.on_device or not is_contiguous(array):
            raise ValueError(f"Bag.send: rank {self.comm.rank}: data is {'on a device' if array.on_device else 'not contiguous'}")
        size = _library.Count(int(np.prod(array.shape)) * array.dtype.itemsize)
        _library.call("LNW_Bag_send", self._state, _library.integer(destination, "Bag.send: destination"), pointer(array), size)

    def next(self) -> tuple[int, Any] | None:
        """The source and the bytes of a message that has arrived, None if there is none. After a flush, messages of the rounds
        that have ended come first; then None once before those of the next round."""
        source, data, size, flag = ctypes.c_int(), ctypes.c_void_p(), _library.Count(), ctypes.c_int()
        _library.call("LNW_Bag_next", self._state, *(ctypes.byref(each) for each in (source, data, size, flag)))
        if not flag.value:
            return None
        # The library's memory is valid until the next call only.
        held = bytearray(ctypes.string_at(data.value or 0, size.value) if size.value else b"")
        return source.value, np.frombuffer(held, dtype=np.uint8)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Messages until ``next`` gives None."""
        while (found := self.next()) is not None:
            yield found

    def flush(self) -> None:
        """End a round: all that any rank has sent in it has arrived, and waits to be taken. Collective."""
        _library.call("LNW_Bag_flush", self._state)

    def iflush(self) -> Request:
        """As ``flush``, nonblocking; what is sent after belongs to the next round."""
        made: Request = make("LNW_Bag_iflush", [self._state], [], [self])
        return made

    @property
    def info(self) -> dict[str, str]:
        """What this rank has done: ``lnw_messages``, ``lnw_bundles`` and so on."""
        return _library.info_of("LNW_Bag_get_info", self._state)

    def free(self) -> None:
        """Flush, forget what has not been taken, and free. Collective: a bag that the program forgets is not freed."""
        if self._state:
            _library.call("LNW_Bag_free", ctypes.byref(self._state))

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()
