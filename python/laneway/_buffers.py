"""Arrays as MPI sees them: an address, a number of rows, and the datatype of one row. Nothing is copied."""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from mpi4py import MPI

from laneway import _library
from laneway._library import handle

NO_STREAM = ctypes.c_void_p(-1)


@dataclass(frozen=True)
class Array:
    """What is known of an array that NumPy may not be able to read. Strides are in bytes; ``stream`` is the one that
    orders its contents, None where there is none; ``on_device`` where a device's library has described it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    readonly: bool
    owner: Any
    stream: int | None = None
    on_device: bool = False

    @property
    def layout(self) -> tuple[Any, ...]:
        """Equal for arrays that one request serves."""
        return self.shape, self.strides, self.dtype, self.stream


class SupportsCudaArray(Protocol):
    """An array on a device, CuPy's for example."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class SupportsDLPack(Protocol):
    """An array of any library that has DLPack."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, int]: ...


ArrayLike: TypeAlias = np.ndarray[Any, Any] | SupportsCudaArray | SupportsDLPack | Array
"""What is exchanged: described in place, never copied."""


def _contiguous(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides = []
    for extent in reversed(shape):
        strides.append(size)
        size *= max(extent, 1)
    return tuple(reversed(strides))


class _DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DLTensor(ctypes.Structure):
    """The tensor of DLPack's stable interface, version 0: github.com/dmlc/dlpack, dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DL_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_VENDORS = {2: "CUDA", 10: "ROCm"}
_DEFAULT_STREAM = {2: 1, 10: 0}


def _from_dlpack(value: Any) -> Array:
    kind, _ = value.__dlpack_device__()
    if kind not in _VENDORS:
        return describe(np.from_dlpack(value))
    capsule = value.__dlpack__(stream=_DEFAULT_STREAM[kind])
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    if tensor.code not in _DL_KINDS or tensor.lanes != 1:
        raise TypeError(f"a DLPack tensor of type code {tensor.code} with {tensor.lanes} lanes has no NumPy dtype")
    dtype = np.dtype(f"{_DL_KINDS[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim)) if tensor.strides else _contiguous(shape, dtype.itemsize)
    # The capsule, which was not consumed, frees its tensor itself.
    return Array((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, False, (value, capsule), 0, True)


def _from_cuda(value: Any) -> Array:
    said = value.__cuda_array_interface__
    dtype = np.dtype(said["typestr"])
    address, readonly = said["data"]
    strides = said.get("strides") or _contiguous(said["shape"], dtype.itemsize)
    stream = said.get("stream")
    if stream == 1:
        stream = 0  # The vendor's default stream is NULL in C.
    return Array(address or 0, tuple(said["shape"]), tuple(strides), dtype, readonly, value, stream, True)


def describe(value: Any, what: str = "array", writable: bool = False) -> Array:
    """An array of NumPy, or of anything with ``__cuda_array_interface__`` or DLPack. TypeError for anything else, and
    where the array has to be written and is read-only; ValueError without a dimension."""
    if isinstance(value, Array):
        return value
    if isinstance(value, np.ndarray):
        found = Array(value.ctypes.data, value.shape, value.strides, value.dtype, not value.flags.writeable, value)
    elif hasattr(value, "__cuda_array_interface__"):
        found = _from_cuda(value)
    elif hasattr(value, "__dlpack__"):
        found = _from_dlpack(value)
    else:
        raise TypeError(f"{what}: expected an array, got {type(value).__name__}")
    if found.dtype.hasobject:
        raise TypeError(f"{what}: Python objects cannot be sent as an array")
    if writable and found.readonly:
        raise TypeError(f"{what}: the array is read-only")
    if not found.shape:
        raise ValueError(f"{what}: an array without dimensions has no rows")
    return found


class _Types:
    """Committed datatypes by what they describe: as many as are in use, the oldest freed first, all freed at exit."""

    KEPT = 256

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}
        atexit.register(self.clear)

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= self.KEPT:
                self._made.pop(next(iter(self._made))).Free()
            found = self._made[key] = make().Commit()
        return found

    def clear(self) -> None:
        while self._made and not MPI.Is_finalized():
            self._made.popitem()[1].Free()


_types = _Types()


def _element(dtype: np.dtype[Any]) -> Any:
    """MPI's type of a dtype; of a dtype without one, its bytes."""
    if dtype.isnative and dtype.char in MPI._typedict:
        return MPI._typedict[dtype.char]
    return _types.get(dtype.itemsize, lambda: MPI.BYTE.Create_contiguous(dtype.itemsize))


def _make_row(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    made, inner, between = _element(dtype), dtype.itemsize, []
    for extent, stride in zip(reversed(shape[1:]), reversed(strides[1:]), strict=True):
        made = made.Create_contiguous(extent) if stride == inner else made.Create_hvector(extent, 1, stride)
        between.append(made)
        inner = stride * extent
    made = made.Create_resized(0, strides[0])
    for step in between:
        step.Free()
    return made


def _row(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if len(shape) == 1 and (shape[0] < 2 or strides[0] == dtype.itemsize):
        return _element(dtype)
    strides = strides if shape[0] > 1 else (_contiguous(shape, dtype.itemsize)[0], *strides[1:])
    return _types.get((shape[1:], strides, dtype), lambda: _make_row(shape, strides, dtype))


def row_type(array: Array) -> Any:
    """The datatype of one row of an array, as mpi4py has it."""
    # Where the array is empty, a row is what it would be.
    strides = array.strides if 0 not in array.shape else _contiguous(array.shape, array.dtype.itemsize)
    return _row((min(array.shape[0], 2), *array.shape[1:]), strides, array.dtype)


def row_handle(array: Array) -> Any:
    """The same as an argument of a C function."""
    return handle(row_type(array))


def element_handle(array: Array) -> Any:
    """The datatype of one element of an array, as an argument of a C function."""
    return handle(_element(array.dtype))


def is_contiguous(array: Array) -> bool:
    """Whether elements follow each other without gaps, the last axis fastest."""
    expected = _contiguous(array.shape, array.dtype.itemsize)
    pairs = zip(array.shape, array.strides, expected, strict=True)
    return 0 in array.shape or all(extent == 1 or stride == wanted for extent, stride, wanted in pairs)


def pointer(array: Array | None) -> ctypes.c_void_p:
    """The first byte, as an argument of a C function."""
    return ctypes.c_void_p(array.address if array is not None else None)


def stream_of(*arrays: Array | None) -> ctypes.c_void_p | None:
    """The stream that orders the arrays; ValueError where two name different ones."""
    found = {array.stream for array in arrays if array is not None and array.stream is not None}
    if len(found) > 1:
        raise ValueError(f"the arrays are ordered by different streams: {', '.join(hex(stream) for stream in sorted(found))}")
    return ctypes.c_void_p(found.pop()) if found else None


def synchronize(*arrays: Array | None) -> None:
    """Wait for the streams that order the arrays: before operations that no stream orders."""
    for array in arrays:
        if array is not None and array.stream is not None:
            _library.call("LNW_Stream_synchronize", pointer(array), ctypes.c_void_p(array.stream))


def empty_like(value: Any, array: Array, shape: tuple[int, ...], what: str) -> Any:
    """A new array of the dtype of `value`, and of its library where it is on a device. `array` describes it. TypeError where
    that library has no such call; `what` names the argument that can be given instead."""
    if not array.on_device:
        return np.empty(shape, dtype=array.dtype)
    if hasattr(value, "__array_namespace__"):
        return value.__array_namespace__().empty(shape, dtype=value.dtype, device=value.device)
    if hasattr(value, "new_empty"):
        return value.new_empty(shape)
    raise TypeError(f"arrays on a device of type {type(value).__name__} have no __array_namespace__: give {what}")
