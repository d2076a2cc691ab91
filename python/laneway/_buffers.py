"""Arrays as MPI sees them: an address, a number of rows, and the datatype of one row. Nothing is copied."""

from __future__ import annotations

import ctypes
import operator
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from mpi4py import MPI

from laneway import _dlpack, _library
from laneway._library import handle

if TYPE_CHECKING:
    from mpi4py.MPI import InPlaceType as InPlaceType

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

    @cached_property
    def layout(self) -> tuple[Any, ...]:
        """Equal for arrays that one request serves."""
        plain = _contiguous(self.shape, self.dtype.itemsize)
        strides = (
            plain
            if 0 in self.shape
            else tuple(
                expected if extent == 1 else stride for extent, stride, expected in zip(self.shape, self.strides, plain, strict=True)
            )
        )
        return self.shape, strides, self.dtype

    @cached_property
    def row(self) -> tuple[Any, ...]:
        """What is equal on all ranks that exchange rows."""
        return self.shape[1:], self.dtype


class SupportsCudaArray(Protocol):
    """An array on a device, CuPy's for example."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class SupportsDLPack(Protocol):
    """An array of any library that has DLPack."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, int]: ...


Buffer: TypeAlias = bytes | bytearray | memoryview
ArrayLike: TypeAlias = np.ndarray[Any, Any] | SupportsCudaArray | SupportsDLPack | Array | Buffer | Sequence[Any]
"""What is exchanged: described in place, never copied."""
ArrayOrInPlace: TypeAlias = "ArrayLike | InPlaceType"
"""The same where MPI takes ``MPI.IN_PLACE`` too."""


def _contiguous(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides = []
    for extent in reversed(shape):
        strides.append(size)
        size *= max(extent, 1)
    return tuple(reversed(strides))


def _from_dlpack(value: Any, what: str) -> Array:
    try:
        found = _dlpack.read(value)
    except (AttributeError, BufferError, ValueError) as error:
        # Each library has its own: of tensors that need a gradient, are sparse or being traced.
        raise TypeError(f"{what}: {type(value).__module__.partition('.')[0]} does not give the tensor away: {error}") from error
    strides = _contiguous(found.shape, found.dtype.itemsize) if found.strides is None else found.strides
    stream = 0 if found.on_device else None
    return Array(found.address, found.shape, strides, found.dtype, found.readonly, found.keeps, stream, found.on_device)


def _from_cuda(value: Any) -> Array:
    said = value.__cuda_array_interface__
    dtype = np.dtype(said["typestr"])
    address, readonly = said["data"]
    strides = said.get("strides") or _contiguous(said["shape"], dtype.itemsize)
    stream = said.get("stream")
    if stream == 1:
        stream = 0  # The vendor's default stream is NULL in C.
    return Array(address or 0, tuple(said["shape"]), tuple(strides), dtype, readonly, value, stream, True)


def _from_buffer(value: Any, what: str) -> Array:
    """What has Python's buffer protocol, as bytes and array.array."""
    try:
        array = np.asarray(memoryview(value))
    except TypeError:
        raise TypeError(f"{what}: expected an array, got {type(value).__name__}") from None
    return Array(array.ctypes.data, array.shape, array.strides, array.dtype, not array.flags.writeable, (array, value))


def _from_pair(value: list[Any] | tuple[Any, ...], what: str) -> Array:
    """As mpi4py takes it: [array, datatype] or [array, count, datatype]; the datatype is MPI's, or a letter of NumPy. What the array
    holds is read as so many elements of the datatype, one a row."""
    if len(value) not in (2, 3):
        of = f"{type(value).__name__} of {len(value)} entries"
        raise TypeError(f"{what}: expected an array, got {of}; mpi4py's form is [array, datatype] or [array, count, datatype]")
    whole = describe(value[0], what)
    kind = value[-1]
    try:
        dtype = np.dtype(kind) if isinstance(kind, str) else _numpy_dtype(kind)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what}: the datatype has no NumPy dtype: describe what it selects as an array ({error})") from None
    size = int(np.prod(whole.shape)) * whole.dtype.itemsize
    if not is_contiguous(whole):
        raise ValueError(f"{what}: with a datatype, the array has to be contiguous")
    count = size // dtype.itemsize if len(value) == 2 or value[1] is None else operator.index(value[1])
    if count < 0 or count * dtype.itemsize > size:
        raise ValueError(f"{what}: {count} elements of {dtype} are {count * dtype.itemsize} bytes, and the array has {size}")
    return replace(whole, shape=(count,), strides=(dtype.itemsize,), dtype=dtype)


def _numpy_dtype(datatype: MPI.Datatype) -> np.dtype[Any]:
    from mpi4py.util.dtlib import to_numpy_dtype

    return np.dtype(to_numpy_dtype(datatype))


def describe(value: Any, what: str = "array", writable: bool = False) -> Array:
    """An array of NumPy, or of anything with ``__cuda_array_interface__``, DLPack or Python's buffer protocol; one without dimensions
    is one row. Or mpi4py's [array, datatype] or [array, count, datatype]. TypeError for anything else, and where the array has to be
    written and is read-only."""
    if isinstance(value, Array):
        return value
    if isinstance(value, np.ndarray):
        found = Array(value.ctypes.data, value.shape, value.strides, value.dtype, not value.flags.writeable, value)
    elif hasattr(value, "__cuda_array_interface__"):
        found = _from_cuda(value)
    elif hasattr(value, "__dlpack__"):
        found = _from_dlpack(value, what)
    elif isinstance(value, (list, tuple)):
        found = _from_pair(value, what)
    else:
        found = _from_buffer(value, what)
    if found.dtype.hasobject:
        raise TypeError(f"{what}: Python objects cannot be sent as an array")
    if writable and found.readonly:
        raise TypeError(f"{what}: the array is read-only")
    is_empty = 0 in found.shape  # its strides may be 0
    if writable and not is_empty and any(n > 1 and stride == 0 for n, stride in zip(found.shape, found.strides, strict=True)):
        raise TypeError(f"{what}: elements of the array are the same memory, which cannot be received into")
    return found if found.shape else replace(found, shape=(1,), strides=(found.dtype.itemsize,))


def _free(made: Any) -> None:
    if not MPI.Is_finalized():
        made.Free()


class _Datatype:
    """A committed datatype, freed with the last argument or request that uses it."""

    def __init__(self, made: Any) -> None:
        self.made = made.Commit()
        weakref.finalize(self, _free, self.made)


class _Types:
    """Datatypes by what they describe: those that were used last are kept."""

    KEPT = 256

    def __init__(self) -> None:
        self._made: dict[Any, _Datatype] = {}

    def get(self, key: Any, make: Callable[[], Any]) -> _Datatype:
        found = self._made.pop(key, None) or _Datatype(make())
        self._made[key] = found
        if len(self._made) > self.KEPT:
            self._made.pop(next(iter(self._made)), None)
        return found


_types = _Types()


@cache
def _number(char: str) -> Any:
    """MPI's own type of a kind of number; None where this MPI library has none."""
    found = MPI._typedict.get(char)
    # What MPI lacks, as float16 may be, is the null type, no handle, or one of which nothing can be made.
    if found is None or found == MPI.DATATYPE_NULL or not MPI._handleof(found):
        return None
    size = np.dtype(char).itemsize
    try:
        made = found.Create_resized(0, size)
    except MPI.Exception:
        return None
    known = made.Get_size() == size
    made.Free()
    return found if known else None


def _named(dtype: np.dtype[Any]) -> Any:
    """MPI's own type of a number; None where it has none."""
    # By kind: in mpi4py's table a text is one character.
    return _number(dtype.char) if dtype.isnative and dtype.kind in "biufc" else None


def _bytes(number: int) -> _Datatype:
    return _types.get(number, lambda: MPI.BYTE.Create_contiguous(number))


def _make_row(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    element = _named(dtype)
    kept = None if element is not None else _bytes(dtype.itemsize)
    made, extent, between = element if kept is None else kept.made, dtype.itemsize, []
    for number, stride in zip(reversed(shape[1:]), reversed(strides[1:]), strict=True):
        made = made.Create_contiguous(number) if stride == extent else made.Create_hvector(number, 1, stride)
        between.append(made)
        # The last element ends the extent: no gap follows it.
        extent += (number - 1) * abs(stride)
    made = made.Create_resized(0, strides[0])
    for step in between:
        step.Free()
    return made


def row_handle(array: Array) -> Any:
    """The datatype of one row of an array, as an argument of a C function that keeps it."""
    shape, strides, dtype = array.layout
    if 0 in shape[1:] or not dtype.itemsize:
        # Without an extent, too: what moves rows by it would write behind an array that has no bytes.
        made = _bytes(0)
        return handle(made.made, made)
    if len(shape) == 1 and (shape[0] < 2 or strides[0] == dtype.itemsize):
        return element_handle(array)
    made = _types.get((shape[1:], strides, dtype), lambda: _make_row(shape, strides, dtype))
    return handle(made.made, made)


def element_handle(array: Array) -> Any:
    """The datatype of one element of an array, as an argument of a C function: bytes where MPI has no type."""
    named = _named(array.dtype)
    if named is not None:
        return handle(named)
    made = _bytes(array.dtype.itemsize)
    return handle(made.made, made)


_ARITHMETIC = (MPI.SUM, MPI.PROD)
_ORDER = (MPI.MAX, MPI.MIN)
_LOGICAL = (MPI.LAND, MPI.LOR, MPI.LXOR)
_BITS = (MPI.BAND, MPI.BOR, MPI.BXOR)
_COMBINED = {"b": _LOGICAL, "i": (*_ARITHMETIC, *_ORDER, *_LOGICAL, *_BITS), "f": (*_ARITHMETIC, *_ORDER), "c": _ARITHMETIC}
_COMBINED["u"] = _COMBINED["i"]


def check_operator(call: str, rank: int, op: MPI.Op, array: Array) -> None:
    """TypeError where MPI has no such operator for the dtype. A program's own takes any."""
    named = _named(array.dtype)
    if op.is_predefined and (named is None or op not in _COMBINED[array.dtype.kind]):
        reason = "MPI has no such type" if named is None else "MPI does not define this operator for it"
        raise TypeError(f"{call}: rank {rank}: op: cannot combine dtype {array.dtype}, kind {array.dtype.kind!r}: {reason}")


def is_contiguous(array: Array) -> bool:
    """Whether elements follow each other without gaps, the last axis fastest."""
    expected = _contiguous(array.shape, array.dtype.itemsize)
    pairs = zip(array.shape, array.strides, expected, strict=True)
    return 0 in array.shape or all(extent == 1 or stride == wanted for extent, stride, wanted in pairs)


def pointer(array: Array | None) -> ctypes.c_void_p:
    """The first element, as an argument of a C function."""
    return ctypes.c_void_p(None if array is None else array.address)


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


def host_bytes(array: Array) -> np.ndarray[Any, Any]:
    """An array in the host's memory as NumPy's, each element so many bytes: to copy what has no NumPy dtype, and padding."""
    raw = np.dtype((np.void, array.dtype.itemsize))
    steps = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)]
    if 0 in array.shape or not array.dtype.itemsize:
        return np.empty(array.shape, raw)
    lowest, highest = sum(step for step in steps if step < 0), sum(step for step in steps if step > 0)
    memory = (ctypes.c_char * (highest - lowest + array.dtype.itemsize)).from_address(array.address + lowest)
    return np.ndarray(array.shape, raw, memoryview(memory).cast("B"), -lowest, array.strides)


def stand_in(planned: Array) -> Array:
    """A new array in the host's memory, laid out as another is."""
    steps = [max(extent - 1, 0) * stride for extent, stride in zip(planned.shape, planned.strides, strict=True)]
    lowest, highest = sum(step for step in steps if step < 0), sum(step for step in steps if step > 0)
    memory = np.empty(highest - lowest + planned.dtype.itemsize, dtype=np.uint8)
    return replace(planned, address=memory.ctypes.data - lowest, owner=memory, readonly=False)


def integers(values: Any, what: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Numbers as 64 bits. TypeError where they are no integers: 1.9 would be 1 without a word."""
    found = np.asarray(values)
    if found.size and found.dtype.kind not in "iu":
        raise TypeError(f"{what}: expected integers, got {found.dtype}")
    if found.dtype.kind == "u" and found.size and int(found.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{what}: {int(found.max())} is more than 64 bits hold")
    return np.ascontiguousarray(found, dtype=np.int64)


class Blocks:
    """Counts and displacements of rows, one for each of `number` `partners`, inside an array of `rows`, or of any number;
    without displacements, blocks follow each other. `where` begins an error's text, `side` is ``"send"`` or ``"recv"``."""

    def __init__(self, where: str, side: str, rows: int | None, counts: Any, displs: Any, number: int, partners: str) -> None:
        names = f"{side}counts", f"{side[0]}displs"
        self.counts = integers(counts, f"{where}: {names[0]}")
        if rows is not None and self.counts.size and int(self.counts.max()) > rows:
            # Their sums may be more than 64 bits, too.
            raise ValueError(f"{where}: {names[0]} and displacements reach row {sum(self.counts.tolist())} of {rows}")
        self.displs = np.cumsum(self.counts) - self.counts if displs is None else integers(displs, f"{where}: {names[1]}")
        for name, values in zip(names, (self.counts, self.displs), strict=True):
            if values.shape != (number,):
                raise ValueError(f"{where}: {name} has shape {values.shape}, and there are {number} {partners}")
        used = self.counts != 0
        for name, values in ((names[0], self.counts), (names[1], np.where(used, self.displs, 0))):
            if number and values.min() < 0:
                raise ValueError(f"{where}: {name}[{int(values.argmin())}] is {values.min()}")
        # Without a sum that could be more than 64 bits.
        over = self.displs > (rows or 0) - self.counts
        if rows is not None and (bad := np.flatnonzero(used & over)).size:
            reached = int(self.displs[bad[0]]) + int(self.counts[bad[0]])
            raise ValueError(f"{where}: {names[0]} and displacements reach row {reached} of {rows}")

    def arguments(self) -> list[Any]:
        """The two of them, as arguments of a C function that keep their arrays."""
        return [_library.pointer_to(self.counts), _library.pointer_to(self.displs)]


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
