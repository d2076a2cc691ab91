"""Requests: start, test, wait, and what they tell of themselves."""

from __future__ import annotations

import ctypes
import html
import json
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpi4py import MPI

from laneway import _library
from laneway._buffers import NO_STREAM, Array, ArrayLike, describe, host_bytes, pointer, stand_in, stream_of, synchronize

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)
_STATUS_BYTES = MPI._sizeof(MPI.Status)
_STATISTICS = (
    "messages", "bytes", "net_messages", "net_bytes", "copied_bytes", "staging_bytes", "arena_bytes", "window_bytes", "metadata_bytes",
)  # fmt: skip


def called_with_code(function: Callable[[int], object] | None) -> Any:
    """A function of the program as C calls it: with a code of MPI. Whoever registers it keeps it."""
    return _FUNCTION() if function is None else _FUNCTION(lambda code, _: function(code) and None)


def _release(state: ctypes.c_void_p, kept: list[object], function: str) -> None:
    if not state or MPI.Is_finalized():
        return
    if getattr(_library.loaded(), function)(ctypes.byref(state)):
        # Still active: its buffers have to outlive the program that forgot it, and the interpreter, which MPI_Finalize comes after.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


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

    def __init__(self, state: ctypes.c_void_p, arrays: list[Array | None], kept: list[object], persistent: bool) -> None:
        library = _library.loaded()
        self._state, self._arrays, self._kept, self.persistent = state, arrays, kept, persistent
        self._stream: int | None = None
        self._function: object = None
        # All that a call needs, made once: a start and a wait are then one call each.
        self._reference = ctypes.byref(state)
        self._status = ctypes.create_string_buffer(_STATUS_BYTES)
        self._flag = ctypes.c_int()
        self._flag_reference = ctypes.byref(self._flag)
        self._start, self._wait, self._test = library.LNW_Start, library.LNW_Wait, library.LNW_Test
        self._finalizer = weakref.finalize(self, _release, state, [arrays, kept], "LNW_Request_free")

    def start(self) -> None:
        """Begin an exchange. Arrays that are sent must not be written, those that receive not be read, until it is complete."""
        code = self._start(self._reference)
        if code:
            _library.fail(code, "LNW_Start")

    def wait(self) -> None:
        """Return when the exchange is complete."""
        code = self._wait(self._reference, self._status)
        if code:
            _library.fail(code, "LNW_Wait")

    def test(self) -> bool:
        """Whether the exchange is complete. Lets all exchanges of the process go on."""
        code = self._test(self._reference, self._flag_reference, self._status)
        if code:
            _library.fail(code, "LNW_Test")
        return self._flag.value != 0

    def on_complete(self, function: Callable[[int], object] | None) -> None:
        """Have `function(code)` called each time that an exchange is complete (code 0) or has failed, by whoever lets exchanges go
        on: a thread that waits for or tests any request. None: no more. The request must be inactive, or nonblocking and without
        a function. The function must not start, complete or free this request; an exception in it is written, and ignored."""

        called = called_with_code(function)
        _library.call("LNW_Request_on_complete", self._state, called, None)
        self._kept[:] = [*(each for each in self._kept if each is not self._function), called]
        self._function = called

    def free(self) -> None:
        """Free an inactive request; it cannot be used after. Error if it is active."""
        if self._state:
            _library.call("LNW_Request_free", self._reference)
        self._arrays.clear()
        self._kept.clear()

    def __enter__(self) -> Request:
        if self.persistent:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()

    def set_buffers(self, send: ArrayLike, recv: ArrayLike) -> None:
        """Other arrays of the same layout (shape, strides, dtype) from the next start on; ValueError for those of another. The
        request must be inactive."""
        given = describe(send, "send"), describe(recv, "recv", writable=True)
        for what, array, bound in zip(("send", "recv"), given, self._arrays, strict=False):
            if bound is not None and array.layout != bound.layout:
                said = [f"shape {each.shape}, strides {each.strides}, dtype {each.dtype}" for each in (array, bound)]
                raise ValueError(f"set_buffers: {what} has {said[0]}; the request is of {said[1]}")
        self.rebind(*given)

    def fits(self, sending: Array, receiving: Array) -> bool:
        """Whether the request can be bound to the arrays."""
        return [array.layout for array in self._arrays if array is not None] == [sending.layout, receiving.layout]

    def rebind(self, sending: Array, receiving: Array) -> None:
        """`set_buffers` of arrays that fit. Those that are bound cost no call."""
        if [array.address for array in self._arrays if array is not None] != [sending.address, receiving.address]:
            _library.call("LNW_Request_set_buffers", self._state, pointer(sending), pointer(receiving))
        self._arrays[:] = [sending, receiving]
        self._order_by(stream_of(sending, receiving))

    def _order_by(self, stream: ctypes.c_void_p | None) -> None:
        named = None if stream is None else stream.value or 0
        if named != self._stream:
            _library.call("LNW_Request_set_stream", self._state, NO_STREAM if stream is None else stream)
        self._stream = named

    def rebuild(self, where: Any) -> Any:
        """The same persistent operation with the same arrays among the ranks of `where`, a communicator of some of its ranks,
        such as those that are left after one has died; or, of a neighborhood, on the topology `where`. Collective over it. Blocks of
        ranks that are gone stay where they are, and are not touched. This request must not be active, and is to be freed. Functions
        are set anew.

        >>> received = np.zeros(2 * comm.size)
        >>> old = laneway.allgather_init(comm, np.full(2, 1.0 + comm.rank), received)
        >>> half = comm.Split(comm.rank % 2)
        >>> new = old.rebuild(half)
        >>> with new:
        ...     pass
        >>> received.reshape(-1, 2)[:, 0].tolist() == [1.0 + r if r % 2 == comm.rank % 2 else 0.0 for r in range(comm.size)]
        True
        """
        state = ctypes.c_void_p()
        on_topology = not isinstance(where, MPI.Comm)
        name, place = ("LNW_Request_rebuild_topology", where._state) if on_topology else ("LNW_Request_rebuild", _library.handle(where))
        _library.call(name, self._state, place, ctypes.byref(state))
        made = type(self)(state, [*self._arrays], [each for each in self._kept if each is not self._function], True)
        if self._stream is not None:
            made._order_by(ctypes.c_void_p(self._stream))
        return made

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
        synchronize(*self._arrays)
        super().start()


def _states(requests: Sequence[Request]) -> Any:
    return (ctypes.c_void_p * max(len(requests), 1))(*(request._state for request in requests))


def _several(name: str, requests: Sequence[Request], *results: Any) -> None:
    """Call a function of several requests. Those that it frees, as nonblocking ones that are complete, are null after."""
    states = _states(requests)
    statuses = [] if name == "LNW_Startall" else [ctypes.create_string_buffer(_STATUS_BYTES * max(len(requests), 1))]
    try:
        _library.call(name, ctypes.c_int(len(requests)), states, *results, *statuses)
    finally:
        for request, state in zip(requests, states, strict=False):
            request._state.value = state


def startall(requests: Sequence[Request]) -> None:
    """Start persistent requests, all inactive."""
    for request in requests:
        if isinstance(request, AfterStreams):
            synchronize(*request._arrays)
    _several("LNW_Startall", requests)


def waitall(requests: Sequence[Request]) -> None:
    """Return when all requests are complete.

    >>> ring = laneway.Topology(comm, [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size])
    >>> received = np.zeros((2, 1))
    >>> requests = [ring.allgather_init(np.array([float(step)]), received[step]) for step in range(2)]
    >>> laneway.startall(requests)
    >>> laneway.waitall(requests)
    >>> received.reshape(-1).tolist()
    [0.0, 1.0]
    """
    _several("LNW_Waitall", requests)


def testall(requests: Sequence[Request]) -> bool:
    """Whether all requests are complete."""
    flag = ctypes.c_int()
    _several("LNW_Testall", requests, ctypes.byref(flag))
    return flag.value != 0


def _position(index: int) -> int | None:
    return None if index == MPI.UNDEFINED else index


def waitany(requests: Sequence[Request]) -> int | None:
    """The position of a request that is complete, waiting until there is one; None where no request is active."""
    index = ctypes.c_int()
    _several("LNW_Waitany", requests, ctypes.byref(index))
    return _position(index.value)


def testany(requests: Sequence[Request]) -> int | None:
    """The position of a request that is complete; None where none is, or no request is active."""
    index, flag = ctypes.c_int(), ctypes.c_int()
    _several("LNW_Testany", requests, ctypes.byref(index), ctypes.byref(flag))
    return _position(index.value) if flag.value else None


def _some(name: str, requests: Sequence[Request]) -> list[int]:
    number, places = ctypes.c_int(), (ctypes.c_int * max(len(requests), 1))()
    _several(name, requests, ctypes.byref(number), places)
    return [] if number.value == MPI.UNDEFINED else places[: number.value]


def waitsome(requests: Sequence[Request]) -> list[int]:
    """The positions of the requests that are complete, waiting until there is one; none where no request is active."""
    return _some("LNW_Waitsome", requests)


def testsome(requests: Sequence[Request]) -> list[int]:
    """The positions of the requests that are complete."""
    return _some("LNW_Testsome", requests)


def make(
    name: str,
    arguments: list[Any],
    arrays: list[Array | None],
    kept: list[object],
    info: Any = None,
    takes_stream: bool = True,
    kind: type[Any] = Request,
) -> Any:
    """Call a function that makes a request. With `info` it is a persistent one. A stream of the arrays orders it if it is
    persistent and `takes_stream`; else the host waits for the stream before it starts."""
    state = ctypes.c_void_p()
    # What the arguments keep, as datatypes, lives as long as the request.
    kept = [*kept, arguments]
    if info is None:
        synchronize(*arrays)
        _library.call(name, *arguments, ctypes.byref(state))
        return kind(state, [*arrays], kept, False)
    stream = stream_of(*arrays) if takes_stream else None
    _library.call(name, *arguments, info, ctypes.byref(state))
    if not takes_stream and any(array is not None and array.stream is not None for array in arrays):
        return AfterStreams(state, [*arrays], kept, True)
    request = kind(state, [*arrays], kept, True)
    request._order_by(stream)
    return request


class Kept:
    """Requests of an object by what all ranks know of a call, so that a rank never plans alone: the operation, and the dtype
    and shape of a row. An array that is laid out otherwise than the planned one is copied, for strides are each rank's own."""

    def __init__(self) -> None:
        self.requests: dict[Any, Request] = {}

    def run(self, key: Any, sending: Array, receiving: Array, make: Callable[[], Request]) -> None:
        """Exchange at once. `sending` and `receiving` may be one object. ValueError where an array on a device would have to be
        copied."""
        request = self.requests.get(key)
        if request is None:
            request = self.requests[key] = make()
        if request.fits(sending, receiving):
            request.rebind(sending, receiving)
            request.start()
            request.wait()
            return
        bound = [array for array in request._arrays if array is not None]
        for array, planned in zip((sending, receiving), bound, strict=True):
            if array.on_device or planned.on_device:
                raise ValueError(
                    f"an array on a device has strides {array.strides}, and rows were planned for {planned.strides}: "
                    "strides have to stay, or have a request of their own"
                )
        out = stand_in(bound[0])
        back = out if sending is receiving else stand_in(bound[1])
        host_bytes(out)[...] = host_bytes(sending)
        if back is not out:
            host_bytes(back)[...] = host_bytes(receiving)
        request.rebind(out, back)
        request.start()
        request.wait()
        host_bytes(receiving)[...] = host_bytes(back)
