"""Requests: start, test, wait, and what they tell of themselves."""

from __future__ import annotations

import ctypes
import html
import json
import weakref
from collections.abc import Mapping
from typing import Any

from mpi4py import MPI

from laneway import _library
from laneway._buffers import Array, ArrayLike, describe, pointer, stream_of, synchronize

_STATUS_BYTES = MPI._sizeof(MPI.Status)
_STATISTICS = (
    "messages", "bytes", "net_messages", "net_bytes", "copied_bytes", "staging_bytes", "arena_bytes", "window_bytes", "metadata_bytes",
)  # fmt: skip
_abandoned: list[object] = []


def _release(state: ctypes.c_void_p, kept: list[object], function: str) -> None:
    if not state or MPI.Is_finalized():
        return
    if getattr(_library.loaded(), function)(ctypes.byref(state)):
        # Still active: its buffers have to outlive the program that forgot it.
        _abandoned.append((state, kept))


class Explanation:
    """How a request was planned and what one exchange costs this rank; a table in a terminal, HTML in a notebook.
    ``rows`` maps each line to its text."""

    def __init__(self, rows: Mapping[str, str]) -> None:
        self.rows = dict(rows)

    def __str__(self) -> str:
        width = max((len(key) for key in self.rows), default=0)
        return "\n".join(f"{key:<{width}}  {value}" for key, value in self.rows.items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>" for key, value in self.rows.items())
        return f"<table>{cells}</table>"


class Request:
    """A persistent or nonblocking operation. It keeps its arrays alive. ``with request:`` starts it, and waits at the end.

    A persistent request may be started again after it is complete; a nonblocking one is under way already.

    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import laneway
    >>> comm = MPI.COMM_WORLD
    >>> ring = laneway.Topology(comm, [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size], strategy="direct")
    >>> x, received = np.array([float(comm.rank)]), np.zeros(1)
    >>> request = ring.allgather_init(x, received)
    >>> for step in range(3):
    ...     with request:
    ...         pass  # work that touches neither array
    >>> bool(received[0] == (comm.rank - 1) % comm.size)
    True
    >>> request.explain().rows["strategy"]
    'direct'
    """

    def __init__(self, state: ctypes.c_void_p, kept: list[object], persistent: bool) -> None:
        library = _library.loaded()
        self._state, self._kept, self.persistent = state, kept, persistent
        # All that a call needs, made once: a start and a wait are then one call each.
        self._reference = ctypes.byref(state)
        self._status = ctypes.create_string_buffer(_STATUS_BYTES)
        self._flag = ctypes.c_int()
        self._flag_reference = ctypes.byref(self._flag)
        self._start, self._wait, self._test = library.LNW_Start, library.LNW_Wait, library.LNW_Test
        self._finalizer = weakref.finalize(self, _release, state, kept, "LNW_Request_free")

    def start(self) -> None:
        """Begin an exchange. Arrays that are sent must not be written, those that receive not be read, until it is complete."""
        code = self._start(self._reference)
        if code:
            _library.fail(code)

    def wait(self) -> None:
        """Return when the exchange is complete."""
        code = self._wait(self._reference, self._status)
        if code:
            _library.fail(code)

    def test(self) -> bool:
        """Whether the exchange is complete. Lets all exchanges of the process go on."""
        code = self._test(self._reference, self._flag_reference, self._status)
        if code:
            _library.fail(code)
        return self._flag.value != 0

    def free(self) -> None:
        """Free an inactive request; it cannot be used after. Error if it is active."""
        if self._state:
            _library.call("LNW_Request_free", self._reference)
        self._kept.clear()

    def __enter__(self) -> Request:
        if self.persistent:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()

    def set_buffers(self, send: ArrayLike, recv: ArrayLike) -> None:
        """Other arrays of the same layout from the next start on. The request must be inactive."""
        sending, receiving = describe(send, "send"), describe(recv, "recv", writable=True)
        self.rebind(sending, receiving)

    def rebind(self, sending: Array, receiving: Array) -> None:
        """`set_buffers` of arrays that are described already. Those that are bound cost no call."""
        if [array.address for array in self._kept[:2] if isinstance(array, Array)] != [sending.address, receiving.address]:
            _library.call("LNW_Request_set_buffers", self._state, pointer(sending), pointer(receiving))
        self._kept[:2] = [sending, receiving]

    @property
    def strategy(self) -> str:
        """The name of the strategy or rule that moves the data."""
        name = ctypes.c_char_p()
        _library.call("LNW_Request_get_strategy", self._state, ctypes.byref(name))
        return (name.value or b"").decode()

    @property
    def statistics(self) -> dict[str, int]:
        """What this rank does in one exchange, and the memory that the request holds."""
        values = (_library.Count * len(_STATISTICS))()
        _library.call("LNW_Request_get_statistics_sized", self._state, ctypes.c_size_t(ctypes.sizeof(values)), values)
        return dict(zip(_STATISTICS, values, strict=True))

    @property
    def info(self) -> dict[str, str]:
        """Why it was planned as it is: the keys of LNW_Request_get_info."""
        return _library.info_of("LNW_Request_get_info", self._state)

    @property
    def plan(self) -> Any:
        """The plan of this rank, as docs/reference/plans.md describes it."""
        length = _library.Count()
        _library.call("LNW_Request_get_plan", self._state, None, _library.Count(0), ctypes.byref(length))
        text = ctypes.create_string_buffer(length.value + 1)
        _library.call("LNW_Request_get_plan", self._state, text, _library.Count(length.value + 1), ctypes.byref(length))
        return json.loads(text.value)

    def explain(self) -> Explanation:
        """The strategy, why it was chosen, and what this rank sends, as a table."""
        rows = {key.removeprefix("lnw_").replace("_", " "): value for key, value in self.info.items()}
        counts = {key.replace("_", " "): f"{value:,}" for key, value in self.statistics.items()}
        return Explanation({"strategy": self.strategy, **rows, **counts})


class AfterStreams(Request):
    """A persistent request that no stream orders: each start waits for the streams of its arrays."""

    def start(self) -> None:
        """Begin an exchange, once the streams of the arrays have got here."""
        synchronize(*(array for array in self._kept if isinstance(array, Array)))
        super().start()


def make(
    name: str, arguments: list[Any], arrays: list[Array | None], kept: list[object], info: Any = None, takes_stream: bool = True
) -> Request:
    """Call a function that makes a request. With `info` it is a persistent one. A stream of the arrays orders it if it is
    persistent and `takes_stream`; else the host waits for the stream before it starts."""
    state = ctypes.c_void_p()
    if info is None:
        synchronize(*arrays)
        _library.call(name, *arguments, ctypes.byref(state))
        return Request(state, [*arrays, *kept], False)
    stream = stream_of(*arrays) if takes_stream else None
    _library.call(name, *arguments, info, ctypes.byref(state))
    if not takes_stream and any(array is not None and array.stream is not None for array in arrays):
        return AfterStreams(state, [*arrays, *kept], True)
    request = Request(state, [*arrays, *kept], True)
    if stream is not None:
        _library.call("LNW_Request_set_stream", state, stream)
    return request
