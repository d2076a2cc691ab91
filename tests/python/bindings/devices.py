"""Arrays in the memory of the sim device, ordered by its streams, as CuPy's are by CUDA's; run by test_bindings.py."""

from __future__ import annotations

import ctypes
import os
import re
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import laneway

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
TO, SOURCE = (RANK + 1) % SIZE, (RANK - 1) % SIZE
_HEADERS = Path(__file__).parents[3] / "include/laneway"


def _members(header: str, structure: str) -> list[str]:
    text = (_HEADERS / header).read_text(encoding="utf-8")
    body = text[text.index(f"typedef struct {structure} {{") : text.index(f"}} {structure};")]
    return re.findall(r"^  (?:int|const \w+\*) \(\*(\w+)\)\(", body, re.MULTILINE)


class Table:
    """Functions of a structure of pointers; those of the plugin's table come after its version, size and vendor."""

    def __init__(self, address: int, header: str, structure: str, head: int) -> None:
        names = _members(header, structure)
        pointers = (ctypes.c_void_p * (head + len(names))).from_address(address)
        self._functions = {name: pointers[head + place] for place, name in enumerate(names)}

    def __getattr__(self, name: str) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_int)(self._functions[name])

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self, name)(*arguments)
        assert status == 0, (name, status)


def _load() -> tuple[Table, Table]:
    plugin = ctypes.CDLL(os.environ["LANEWAY_DEVICE_PLUGINS"])
    header = (_HEADERS / "device.h").read_text(encoding="utf-8")
    version = int(re.search(r"#define LNW_DEVICE_TABLE_VERSION (\d+)", header)[1])  # type: ignore[index]
    symbol = re.search(r'#define LNW_DEVICE_TABLE_SYMBOL "(\w+)"', header)[1]  # type: ignore[index]
    get = getattr(plugin, symbol)
    get.restype = ctypes.c_void_p
    table = Table(get(version), "device.h", "lnw_device_table", 2)
    find = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(table._functions["extension"])
    return table, Table(find(b"laneway.sim.1"), "sim_device.h", "lnw_sim_device", 0)


TABLE, SIM = _load()


class DeviceArray:
    """Memory of the device behind ``__cuda_array_interface__``, whose library makes others like it as CuPy's does."""

    def __init__(self, like: Any, stream: int | None) -> None:
        self._like, self._address = np.ascontiguousarray(like), ctypes.c_void_p()
        TABLE.call("device_malloc", 0, ctypes.c_size_t(self._like.nbytes), ctypes.byref(self._address))
        SIM.call("copy_now", self._address, ctypes.c_void_p(self._like.ctypes.data), ctypes.c_size_t(self._like.nbytes))
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": self._like.shape,
            "typestr": self._like.dtype.str,
            "data": (self._address.value, False),
            "strides": None,
            "stream": stream,
        }

    dtype = property(lambda self: self._like.dtype)
    device = 0

    def __array_namespace__(self) -> Any:
        stream = self.__cuda_array_interface__["stream"]
        return types.SimpleNamespace(empty=lambda shape, *, dtype, device: DeviceArray(np.zeros(shape, dtype), stream))

    def get(self) -> Any:
        """A copy in the host's memory."""
        found = np.empty_like(self._like)
        SIM.call("copy_now", ctypes.c_void_p(found.ctypes.data), self._address, ctypes.c_size_t(found.nbytes))
        return found

    def put_later(self, values: Any, stream: Any) -> None:
        """Put values into it as the stream gets there, which is not at once. They are kept until then."""
        self._like = np.ascontiguousarray(values)
        sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
        TABLE.call("host_call", 0, stream, sleep, ctypes.c_void_p(30_000))
        source = ctypes.c_void_p(self._like.ctypes.data)
        TABLE.call("copy", 0, stream, self._address, source, ctypes.c_size_t(self._like.nbytes))

    def free(self) -> None:
        TABLE.call("device_free", 0, self._address)


@pytest.fixture
def stream() -> Any:
    made = ctypes.c_void_p()
    TABLE.call("stream_create", 0, 0, ctypes.byref(made))
    yield made
    TABLE.call("stream_synchronize", 0, made)
    TABLE.call("stream_destroy", 0, made)


def _values(seed: int, rank: int) -> Any:
    return np.random.default_rng(100 * seed + rank).random((5, 3))


def test_exchanges_are_ordered_by_the_stream_of_their_arrays(stream: Any) -> None:
    topology = laneway.Topology(COMM, [SOURCE], [TO])
    send, recv = (DeviceArray(values, stream.value) for values in (_values(1, RANK), np.zeros((5, 3))))
    request = topology.alltoallv_init(send, [5], recv, [5])
    with request:
        pass
    TABLE.call("stream_synchronize", 0, stream)
    assert COMM.allreduce(int((recv.get() == _values(1, SOURCE)).all()), op=MPI.MIN)
    again = DeviceArray(_values(2, RANK), stream.value)
    request.set_buffers(again, recv)
    with request:
        pass
    TABLE.call("stream_synchronize", 0, stream)
    assert COMM.allreduce(int((recv.get() == _values(2, SOURCE)).all()), op=MPI.MIN)
    # A blocking operation is ordered by the stream, too.
    topology.alltoallv(send, [5], recv, [5])
    TABLE.call("stream_synchronize", 0, stream)
    assert COMM.allreduce(int((recv.get() == _values(1, SOURCE)).all()), op=MPI.MIN)
    request.free()
    topology.free()
    for array in (send, recv, again):
        array.free()


def test_halos_of_device_arrays(stream: Any) -> None:
    halo = laneway.Halo(COMM, np.arange(4 * RANK, 4 * RANK + 4), [4 * TO] if SIZE > 1 else [])
    start = np.arange(4.0 * RANK, 4 * RANK + 4 + halo.ghosts)
    x = DeviceArray(start, stream.value)
    halo.exchange(x)
    TABLE.call("stream_synchronize", 0, stream)
    assert COMM.allreduce(int(x.get()[4:].tolist() == ([4.0 * TO] if SIZE > 1 else [])), op=MPI.MIN)
    x.free()


def _ranks_sum(seed: int) -> Any:
    return sum(_values(seed, rank) for rank in range(SIZE))


def _gathered(seed: int) -> Any:
    return np.concatenate([_values(seed, rank) for rank in range(SIZE)])


def _exchanged(seed: int) -> Any:
    """Of an alltoall of rows: row i of this rank is row RANK of rank i."""
    return np.stack([_rows(seed, rank)[RANK] for rank in range(SIZE)])


def _rows(seed: int, rank: int) -> Any:
    return np.random.default_rng(100 * seed + rank).random((SIZE, 3))


@pytest.mark.parametrize("form", ["{}", "i{}", "{}_init"])
@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [("allreduce", _values, _ranks_sum), ("allgather", _values, _gathered), ("alltoall", _rows, _exchanged), ("bcast", _values, None)],
)
def test_dense_operations_come_after_what_is_in_the_stream(stream: Any, form: str, name: str, values: Any, expected: Any) -> None:
    """What is sent gets into the array late, by its stream. What was received is there when the call has returned."""
    send = DeviceArray(np.zeros_like(values(1, RANK)), stream.value)
    recv = send if expected is None else DeviceArray(np.zeros_like(expected(1)), None)
    call, made = getattr(laneway, form.format(name)), None
    for seed in (1, 2):
        send.put_later(values(seed, RANK), stream)
        if made is None or not made.persistent:
            made = call(COMM, send) if expected is None else call(COMM, send, recv)
        if made is not None:
            with made:
                pass
        right = values(seed, 0) if expected is None else expected(seed)
        assert COMM.allreduce(int(np.allclose(recv.get(), right)), op=MPI.MIN), (seed, recv.get(), right)
    TABLE.call("stream_synchronize", 0, stream)
    for array in {send, recv}:
        array.free()


@pytest.mark.parametrize("form", ["alltoallv", "ialltoallv", "alltoallv_init"])
def test_operations_of_topologies_come_after_what_is_in_the_stream(stream: Any, form: str) -> None:
    topology = laneway.Topology(COMM, [SOURCE], [TO])
    send, recv = (DeviceArray(np.zeros((5, 3)), stream.value) for _ in range(2))
    send.put_later(_values(3, RANK), stream)
    made = getattr(topology, form)(send, [5], recv, [5])
    if made is not None:
        with made:
            pass
    if form.endswith("_init"):
        TABLE.call("stream_synchronize", 0, stream)
    assert COMM.allreduce(int((recv.get() == _values(3, SOURCE)).all()), op=MPI.MIN)
    for array in (send, recv):
        array.free()


def test_arrays_of_two_streams_are_both_waited_for(stream: Any) -> None:
    """Where no stream orders the operation, each array may name its own."""
    other = ctypes.c_void_p()
    TABLE.call("stream_create", 0, 0, ctypes.byref(other))
    send, recv = DeviceArray(np.zeros((5, 3)), stream.value), DeviceArray(np.zeros((5, 3)), other.value)
    send.put_later(_values(4, RANK), stream)
    recv.put_later(np.full((5, 3), -1.0), other)
    laneway.allreduce(COMM, send, recv)
    assert COMM.allreduce(int(np.allclose(recv.get(), _ranks_sum(4))), op=MPI.MIN)
    with pytest.raises(ValueError, match="ordered by different streams"):
        laneway.Topology(COMM, [], []).alltoallv_init(send, [], recv, [])
    TABLE.call("stream_destroy", 0, other)
    for array in (send, recv):
        array.free()


def test_what_a_distributor_returns_is_where_its_input_is(stream: Any) -> None:
    distributor = laneway.Distributor(COMM, np.arange(2 * SIZE) % SIZE)
    x = DeviceArray(np.arange(2.0 * SIZE) + 100 * RANK, stream.value)
    arrived = distributor.forward(x)
    assert isinstance(arrived, DeviceArray)
    back = distributor.backward(arrived)
    TABLE.call("stream_synchronize", 0, stream)
    expected = [100.0 * rank + RANK + turn * SIZE for rank in range(SIZE) for turn in range(2)]
    assert COMM.allreduce(int(arrived.get().tolist() == expected and back.get().tolist() == x.get().tolist()), op=MPI.MIN)
    bare = types.SimpleNamespace(__cuda_array_interface__=x.__cuda_array_interface__)
    with pytest.raises(TypeError, match="of type SimpleNamespace have no __array_namespace__: give out"):
        distributor.forward(bare)
    for array in (x, arrived, back):
        array.free()


def test_what_takes_the_hosts_memory_alone_says_so() -> None:
    x = DeviceArray(_values(5, RANK), None)
    with pytest.raises(laneway.Error, match="sendbuf is on a device; discovery takes buffers in the memory of the host"):
        laneway.sparse_alltoallv(COMM, [TO], x, [5])
    with laneway.Channel(COMM, TO, "send", 64) as out, laneway.Channel(COMM, SOURCE, "receive", 64):
        with pytest.raises(TypeError, match="Channel.put: data: the array is on a device"):
            out.put(x)
    x.free()
