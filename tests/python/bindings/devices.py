"""Arrays in the memory of the sim device, ordered by its streams, as CuPy's are by CUDA's; run by test_bindings.py."""

from __future__ import annotations

import ctypes
import os
import re
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
    """Memory of the device behind ``__cuda_array_interface__``."""

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

    def get(self) -> Any:
        """A copy in the host's memory."""
        found = np.empty_like(self._like)
        SIM.call("copy_now", ctypes.c_void_p(found.ctypes.data), self._address, ctypes.c_size_t(found.nbytes))
        return found

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
