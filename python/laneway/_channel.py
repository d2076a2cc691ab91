"""Channels: one way, from one rank to another, without matching and without tags."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Literal

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, ArrayLike, describe, is_contiguous, pointer

_ROLES = {"send": 1, "receive": 2}


def _release(state: ctypes.c_void_p, sent: dict[int, Array]) -> None:
    # Freeing waits until what was put has left: until then `sent` keeps it.
    if state and not MPI.Is_finalized():
        _library.loaded().LNW_Channel_free(ctypes.byref(state))
    sent.clear()


class _Segment:
    def __init__(self, address: int, bytes: int, channel: Channel) -> None:
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (bytes,), "data": (address, False)}
        self.channel = channel


class Received:
    """What is in a segment: ``data``, bytes of the segment itself and not a copy, until ``release``, or the end of ``with``."""

    def __init__(self, channel: Channel, segment: int, address: int, bytes: int) -> None:
        self._channel, self._segment = channel, segment
        self.data = np.asarray(_Segment(address, bytes, channel)) if bytes else np.empty(0, dtype=np.uint8)

    def view(self, dtype: Any) -> Any:
        """``data`` as an array of this dtype."""
        return self.data.view(dtype)

    def release(self) -> None:
        """Give the segment back to the sender. ``data`` must not be read after."""
        _library.call("LNW_Channel_release", self._channel._state, self._segment)

    def __enter__(self) -> Received:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Channel:
    """One end of a channel to or from `peer`: ``role`` is ``"send"`` on one of the two ranks, ``"receive"`` on the other.

    `bytes` of a segment and the number of `segments` are the same on both. As many puts may be under way as there are
    segments. Only the two ranks take part, but see ``prepare``. A receiver may give a contiguous array of its own as `buffer`, of
    `segments` times `bytes` bytes in the host's memory: what is put into segment s comes there.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> comm = MPI.COMM_WORLD
    >>> laneway.Channel.prepare(comm)
    >>> to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    >>> with laneway.Channel(comm, to, "send", 64) as out, laneway.Channel(comm, source, "receive", 64) as into:
    ...     out.put(np.array([comm.rank, 7]))
    ...     with into.wait() as received:
    ...         received.view(int).tolist() == [source, 7]
    True
    """

    def __init__(
        self,
        comm: MPI.Comm,
        peer: int,
        role: Literal["send", "receive"],
        bytes: int,
        segments: int = 1,
        buffer: ArrayLike | None = None,
        **hints: object,
    ) -> None:
        if role not in _ROLES:
            raise ValueError(f"Channel: rank {comm.rank}: role is {role!r}, expected 'send' or 'receive'")
        self._state = ctypes.c_void_p()
        self._sent: dict[int, Array] = {}
        self._buffer = None if buffer is None else describe(buffer, "buffer", writable=True)
        if (array := self._buffer) is not None:
            size = int(np.prod(array.shape)) * array.dtype.itemsize
            if role == "send" or array.on_device or not is_contiguous(array) or size != bytes * segments:
                wrong = f"has {size} bytes, {segments} segments of {bytes} are {bytes * segments}"
                wrong = "is not contiguous in the host's memory" if array.on_device or not is_contiguous(array) else wrong
                raise ValueError(f"Channel: rank {comm.rank}: buffer " + ("is for a receiver" if role == "send" else wrong))
        with _library.Hints(hints) as info:
            _library.call(
                f"LNW_Channel_create{'' if array is None else '_with_buffer'}",
                _library.handle(comm), _library.integer(peer, "Channel: peer"), _ROLES[role], *([] if array is None else [pointer(array)]),
                _library.Count(bytes), _library.integer(segments, "Channel: segments"), info, ctypes.byref(self._state),
            )  # fmt: skip
        self._finalizer = weakref.finalize(self, _release, self._state, self._sent)

    @staticmethod
    def prepare(comm: MPI.Comm) -> None:
        """Make what channels on `comm` need. Collective; without it all ranks have to make a channel at some time."""
        _library.call("LNW_Comm_prepare", _library.handle(comm))

    def put(self, data: ArrayLike, segment: int = 0) -> None:
        """Send a contiguous array to a free segment. `data` may be written again once it is free, or after ``flush``; until
        then the channel keeps it. It is in the host's memory: TypeError where it is on a device."""
        array = describe(data, "data")
        if array.on_device:
            raise TypeError("Channel.put: data: the array is on a device, and channels send from the host's memory")
        if not is_contiguous(array):
            raise ValueError("Channel.put: data: the array is not contiguous")
        size = int(np.prod(array.shape)) * array.dtype.itemsize
        number = _library.integer(segment, "Channel.put: segment")
        _library.call("LNW_Channel_put", self._state, number, pointer(array), _library.Count(size))
        self._sent[number.value] = array

    def flush(self) -> None:
        """Return when all data of earlier puts may be written again."""
        _library.call("LNW_Channel_flush", self._state)
        self._sent.clear()

    def is_free(self, segment: int = 0) -> bool:
        """Whether the receiver has released what was put into the segment."""
        flag = ctypes.c_int()
        _library.call("LNW_Channel_test_free", self._state, _library.integer(segment, "segment"), ctypes.byref(flag))
        if flag.value:
            self._sent.pop(segment, None)
        return flag.value != 0

    def test(self, segment: int = 0) -> Received | None:
        """What has been put into the segment, None if nothing has."""
        flag, data, size = ctypes.c_int(), ctypes.c_void_p(), _library.Count()
        _library.call(
            "LNW_Channel_test",
            self._state,
            _library.integer(segment, "segment"),
            ctypes.byref(flag),
            ctypes.byref(data),
            ctypes.byref(size),
        )
        return Received(self, segment, data.value or 0, size.value) if flag.value else None

    def wait(self, segment: int = 0) -> Received:
        """What is put into the segment, as soon as it is there."""
        data, size = ctypes.c_void_p(), _library.Count()
        _library.call("LNW_Channel_wait", self._state, _library.integer(segment, "segment"), ctypes.byref(data), ctypes.byref(size))
        return Received(self, segment, data.value or 0, size.value)

    @property
    def info(self) -> dict[str, str]:
        """What carries the data, and why."""
        return _library.info_of("LNW_Channel_get_info", self._state)

    def free(self) -> None:
        """Free this end."""
        if self._state:
            _library.call("LNW_Channel_free", ctypes.byref(self._state))
            self._sent.clear()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()
