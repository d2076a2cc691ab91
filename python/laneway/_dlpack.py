"""Tensors behind DLPack, read in place: github.com/dmlc/dlpack, dlpack.h."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np


class Tensor(NamedTuple):
    """What a capsule says. Strides are in bytes; ``keeps`` has to live as long as the memory is used."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    readonly: bool
    on_device: bool
    keeps: object


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Tensor(ctypes.Structure):
    """The same in both versions."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_READ_ONLY = 1
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_OPAQUE = 3
_HOST = (1, 3, 11, 13)  # the processor's memory, pinned by either vendor, and managed
_DEVICE_STREAM = {2: 1, 10: 0}  # the default stream, as each vendor's tensors want to be asked for


def _capsule(value: Any, **options: Any) -> Any:
    try:
        return value.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # a library from before versions
        return value.__dlpack__(**options)


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    if tensor.lanes != 1 or tensor.bits % 8 or tensor.code == _OPAQUE:
        raise TypeError(f"a DLPack tensor of type code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes has no NumPy dtype")
    # Those that NumPy has no name for, as bfloat16, are so many bytes.
    return np.dtype(f"{_KINDS.get(tensor.code, 'V')}{tensor.bits // 8}")


def read(value: Any) -> Tensor:
    """The tensor of an object with ``__dlpack__``. TypeError where it is on a device, or of a type, that is not known here."""
    kind, _ = value.__dlpack_device__()
    if kind not in _HOST and kind not in _DEVICE_STREAM:
        raise TypeError(f"a DLPack tensor on a device of type {int(kind)} cannot be sent")
    capsule = _capsule(value, stream=_DEVICE_STREAM[kind]) if kind in _DEVICE_STREAM else _capsule(value)
    pointer, is_valid = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_IsValid
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_valid.restype, is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    # JAX's arrays never change, and their capsules do not say so.
    readonly = type(value).__module__.partition(".")[0] in ("jax", "jaxlib")
    if is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(pointer(capsule, b"dltensor_versioned"))
        tensor, readonly = versioned.tensor, readonly or bool(versioned.flags & _READ_ONLY)
    else:
        tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    dtype = _dtype(tensor)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim)) if tensor.strides else None
    # The capsule, which was not consumed, frees its tensor itself.
    return Tensor((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, readonly, kind in _DEVICE_STREAM, (value, capsule))
