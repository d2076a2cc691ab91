"""The library itself: where it is, and calls of its C functions with handles of mpi4py."""

from __future__ import annotations

import ctypes
import operator
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

Count = ctypes.c_int64
"""MPI_Count, of 64 bits in every library that this one is built for."""
_SONAME = "liblaneway.so.0.2"
_FOLDER = Path(__file__).parent / "lib"


class Error(MPI.Exception):
    """An error of the library, with its text: the rank, the call and the argument. ``error_code`` is MPI's."""

    def __new__(cls, code: int, text: str = "") -> Error:
        return super().__new__(cls, code)

    def __init__(self, code: int, text: str = "") -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text or super().__str__()


# Libraries that a wheel has side by side, as their files end, and the MPI library that each is linked with. The ABI's is first, since
# MPI libraries may have their other one behind it.
_LINKED = {"abi": "libmpi_abi.so.1", "openmpi": "libmpi.so.40", "mpich": "libmpich.so.12", "mpich_upstream": "libmpi.so.12"}


def _is_loaded(name: str) -> bool:
    try:
        return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY) is not None
    except OSError:
        return False


def _candidates() -> list[str]:
    """Files and names to load, in turn. Of a wheel's, the one that is linked with the MPI library that mpi4py has loaded; all where
    none is known."""
    named = os.environ.get("LANEWAY_LIBRARY")
    if named and named not in _LINKED:
        return [named]
    there = {path.name.partition(".")[0].removeprefix("liblaneway"): str(path) for path in sorted(_FOLDER.glob("liblaneway*.so*"))}
    kinds = [named] if named else [kind for kind in _LINKED if _is_loaded(_LINKED[kind])][:1] or list(_LINKED)
    inside = [there[f"_{kind}"] for kind in kinds if f"_{kind}" in there]
    others = [there[key] for key in there if key.removeprefix("_") not in _LINKED]
    system = [_SONAME.replace(".", f"_{kind}.", 1) for kind in kinds]
    return [*inside, *system] if named else [*others, *inside, *system, _SONAME]


def _address(library: ctypes.CDLL, name: str) -> int | None:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def _checked(library: ctypes.CDLL, path: str) -> ctypes.CDLL:
    # Two MPI libraries in one process would take each other's handles for their own.
    theirs = ctypes.CDLL(MPI.__file__)
    name = "MPI_Get_library_version"
    if _address(library, name) != _address(theirs, name):
        text = ctypes.create_string_buffer(8192)
        getattr(library, name)(text, ctypes.byref(ctypes.c_int()))
        mine, other = (version.splitlines()[0] for version in (text.value.decode(), MPI.Get_library_version()))
        raise ImportError(f"{path} is built for another MPI library than mpi4py: {mine}; mpi4py has {other}")
    return library


@cache
def loaded() -> ctypes.CDLL:
    """The loaded library. ImportError says what was tried, or which MPI library it is built for."""
    reasons = []
    for path in _candidates():
        try:
            return _checked(ctypes.CDLL(path), path)
        except (OSError, ImportError) as error:
            reasons.append(str(error))
    has = MPI.Get_library_version().splitlines()[0]
    raise ImportError(
        f"liblaneway.so was not found for the MPI library of mpi4py, {has}. LANEWAY_LIBRARY=FILE names it, `pip install ./python` builds"
        " it. Tried:\n" + "\n".join(reasons)
    )


def handle(value: Any, *kept: object) -> Any:
    """An MPI object as an argument of a C function: a pointer or an int, whichever this MPI library has. The argument keeps the
    object, and what else it needs."""
    number = MPI._handleof(value)
    found = ctypes.c_void_p(number) if MPI._sizeof(value) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int(number)
    found.kept = (value, *kept)  # type: ignore[union-attr]
    return found


def pointer_to(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    """The first byte of an array, as an argument that keeps it."""
    found = ctypes.c_void_p(array.ctypes.data)
    found.kept = array  # type: ignore[attr-defined]
    return found


def fail(code: int, name: str) -> None:
    """Raise what the library says of an error code; `name` is the C function that gave it."""
    # MPI, which keeps the text, is gone.
    raise Error(code, f"{name} was called after MPI.Finalize" if MPI.Is_finalized() else "")


def call(name: str, *arguments: Any) -> None:
    """Call a C function; arguments are values of ctypes. Raises Error."""
    code = getattr(loaded(), name)(*arguments)
    if code:
        fail(code, name)


def integer(value: Any, what: str) -> ctypes.c_int:
    """A C int. TypeError where it is no integer, ValueError where it does not fit: ctypes would cut it."""
    number = operator.index(value)
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"{what} is {number}, which no C int holds")
    return ctypes.c_int(number)


def ints(values: Any, what: str) -> Any:
    """An array of C ints."""
    found = [integer(value, what).value for value in values]
    return (ctypes.c_int * max(len(found), 1))(*found)


class Hints:
    """An info object with the hints, for the time of one call: ``strategy="three_step"`` is ``lnw_strategy``."""

    def __init__(self, hints: Mapping[str, object]) -> None:
        self._info = MPI.INFO_NULL
        if hints:
            self._info = MPI.Info.Create()
            for key, value in hints.items():
                text = str(value).lower() if isinstance(value, bool) else str(value)
                self._info.Set(key if key.startswith("lnw_") else f"lnw_{key}", text)

    def __enter__(self) -> Any:
        return handle(self._info)

    def __exit__(self, *_: object) -> None:
        if self._info != MPI.INFO_NULL:
            self._info.Free()


def version() -> tuple[int, int, int]:
    """The version of the library that is loaded."""
    found = [ctypes.c_int() for _ in range(3)]
    call("LNW_Get_version", *(ctypes.byref(each) for each in found))
    major, minor, patch = (each.value for each in found)
    return major, minor, patch


class _Variable(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("environment", ctypes.c_char_p), ("description", ctypes.c_char_p))


def _variables(kind: str) -> list[str]:
    number, variable = ctypes.c_int(), _Variable()
    call(f"LNW_{kind}_get_num", ctypes.byref(number))
    names = []
    for i in range(number.value):
        call(f"LNW_{kind}_get_info", ctypes.c_int(i), ctypes.byref(variable))
        names.append(variable.name.decode())
    return names


def control_variables(comm: MPI.Comm | None = None) -> dict[str, str]:
    """The hints that are in force for operations on a communicator that are given no others; without one, for all that have none of
    their own."""
    found = {}
    for i, name in enumerate(_variables("Cvar")):
        where, length = handle(comm or MPI.COMM_NULL), ctypes.c_int()
        call("LNW_Cvar_read", ctypes.c_int(i), where, None, ctypes.c_int(0), ctypes.byref(length))
        text = ctypes.create_string_buffer(length.value + 1)
        call("LNW_Cvar_read", ctypes.c_int(i), where, text, ctypes.c_int(length.value + 1), ctypes.byref(length))
        found[name] = text.value.decode()
    return found


def counters(comm: MPI.Comm | None = None) -> dict[str, int]:
    """What requests of this process have done and hold; with a communicator, those that run on the library's duplicate of it."""
    found = {}
    for i, name in enumerate(_variables("Pvar")):
        value = Count()
        call("LNW_Pvar_read", ctypes.c_int(i), handle(comm or MPI.COMM_NULL), ctypes.byref(value))
        found[name] = value.value
    return found


def info_of(function: str, owner: Any) -> dict[str, str]:
    """What a function that makes an info object says of `owner`."""
    info = MPI.Info()
    call(function, owner, ctypes.c_void_p(MPI._addressof(info)))
    try:
        keys = [info.Get_nthkey(i) for i in range(info.Get_nkeys())]
        return {key: info.Get(key) or "" for key in keys}
    finally:
        info.Free()
