"""Every kind of dtype, in every layout, through every operation, against plain mpi4py: equal bytes, or a TypeError that names the
kind. Arrays are freed and their memory filled with garbage after each call. Run by test_bindings.py."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from ranks import COMM, RANK, SIZE, everywhere

import laneway

TO, SOURCE = (RANK + 1) % SIZE, (RANK - 1) % SIZE
LONG = bool(os.environ.get("LANEWAY_TEST_LONG"))
NUMBERS = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "F", "D", "G")
OTHERS = ("S1", "S10", "U1", "U5", "V5", "M8[s]", "m8[ns]", "i4,f8,S3", ">i2", ">f8", ">c16", ">U3", "(2,)f8,i1")
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda a: a.copy(),
    "F": lambda a: np.array(a, order="F"),
    "gap": lambda a: _spread(a, a.ndim - 1, 2),
    "gap of rows": lambda a: _spread(a, 0, 3),
    "gap in the middle": lambda a: _spread(a, a.ndim // 2, 2),
    "negative": lambda a: _backward(a, a.ndim - 1),
    "rows backward": lambda a: _backward(a, 0),
    "all": lambda a: _spread(_backward(_spread(np.array(a, order="F"), a.ndim - 1, 2), a.ndim // 2), 0, 2),
}
ROWS: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (2, 1, 3), (0,))


def _spread(a: Any, axis: int, step: int) -> Any:
    """The same values in every `step`-th place of a larger array, whose other bytes are 0xEE."""
    shape = [extent * step if place == axis else extent for place, extent in enumerate(a.shape)]
    wide = np.full(int(np.prod(shape)) * a.dtype.itemsize, 0xEE, np.uint8).view(np.dtype((np.void, a.dtype.itemsize))).view(a.dtype)
    found = wide.reshape(shape)[tuple(slice(None, None, step) if place == axis else slice(None) for place in range(a.ndim))]
    _raw(found)[...] = _raw(a)
    return found


def _backward(a: Any, axis: int) -> Any:
    """The same values in descending addresses along an axis, between bytes of 0xEE."""
    raw = np.dtype((np.void, a.dtype.itemsize))
    wide = np.full(3 * a.nbytes + 3 * a.dtype.itemsize, 0xEE, np.uint8).view(raw).view(a.dtype)
    found = np.flip(wide[a.size + 1 : 2 * a.size + 1].reshape(a.shape), axis)
    _raw(found)[...] = _raw(a)
    return found


def _raw(a: Any) -> Any:
    """The bytes of the elements: a copy of fields would leave their padding."""
    return a.view(np.dtype((np.void, a.dtype.itemsize))) if a.dtype.itemsize else a


def values(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """Bytes that every value of the dtype can have, other ones on each rank."""
    kind = np.dtype(dtype)
    drawn = np.random.default_rng([seed, RANK]).integers(1, 100, (*shape, kind.itemsize), np.uint8)
    if kind.names is None and kind.kind in "?fcUb":  # not all bits are numbers, or characters
        number = drawn.sum(axis=-1)
        return number.astype(str).astype(kind) if kind.kind == "U" else (number % 2 if kind.kind == "b" else number).astype(kind)
    return drawn.reshape(-1).view(np.dtype((np.void, kind.itemsize))).view(kind).reshape(shape)


def _owner(a: Any) -> Any:
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def _fill_with_garbage(arrays: list[Any]) -> None:
    """What was kept by nobody else is overwritten: a call that still reads it shows."""
    for a in arrays:
        owner = _owner(a)
        if owner.flags.writeable:
            _raw(owner)[...] = np.frombuffer(b"\xaa" * owner.dtype.itemsize, np.dtype((np.void, owner.dtype.itemsize)))[0]
    arrays.clear()


def bytes_of(a: Any) -> Any:
    return np.frombuffer(a.tobytes(), np.uint8)


def equal(got: Any, expected: Any) -> bool:
    """In all bytes; those of a long double that are no part of the number are not moved."""
    if expected.dtype.char in "gG":
        return got.shape == expected.shape and bool((got == expected).all())
    return bool(got.tobytes() == expected.tobytes())


def plain(name: str, sent: Any, row: tuple[int, ...], dtype: Any, root: int) -> Any:
    """What an operation brings, as mpi4py moves the bytes; None where a rank gets nothing."""
    each = bytes_of(sent)
    if name in ("allgather", "gather", "topology gather"):
        parts = np.empty(SIZE * each.size, np.uint8)
        COMM.Allgather(each, parts)
        everything = np.frombuffer(parts.tobytes(), dtype).reshape(SIZE * len(sent), *row) if each.size else None
        if everything is None:
            everything = np.empty((SIZE * len(sent), *row), dtype)
        if name == "topology gather":
            return everything.reshape(SIZE, len(sent), *row)[SOURCE]
        return everything if name == "allgather" or RANK == root else None
    taken = np.empty_like(each)
    if name == "bcast":
        taken[...] = each
        COMM.Bcast(taken, root)
    elif name == "alltoall":
        COMM.Alltoall(each, taken)
    elif name == "scatter":
        part = np.empty(each.size // SIZE, np.uint8)
        COMM.Scatter(each if RANK == root else None, part, root)
        taken = part
    else:
        COMM.Sendrecv(each, TO, recvbuf=taken, source=SOURCE)
    rows = len(sent) // (SIZE if name == "scatter" else 1)
    return np.frombuffer(taken.tobytes(), dtype).reshape(rows, *row) if taken.size else np.empty((rows, *row), dtype)


def finish(made: Any) -> None:
    """Complete what a form has returned."""
    if made is not None:
        with made:
            pass


class Moves:
    """The operations that move rows; `sent` is laid out already, `taken` makes what receives."""

    def __init__(self) -> None:
        self.ring = laneway.Topology(COMM, [SOURCE], [TO])
        # Ranks' arrays differ in rows: a rank has one row of its own, and one ghost of the next rank.
        self.halo = laneway.Halo(COMM, np.arange(2 * RANK, 2 * RANK + 2), [2 * SOURCE, 2 * SOURCE + 1] if SIZE > 1 else [])
        self.distributor = laneway.Distributor(COMM, [TO] * (2 * SIZE))

    def run(self, name: str, form: str, sent: Any, taken: Callable[[tuple[int, ...]], Any], root: int) -> Any:
        rows, row = len(sent), sent.shape[1:]
        if name == "halo":
            x = taken((2 + self.halo.ghosts, *row))
            _raw(x)[:2] = _raw(sent[:2])
            self.halo.exchange(x)
            return x[2:] if SIZE > 1 else x[:2]
        if name == "distributor":
            return self.distributor.forward(sent)
        if name == "sparse":
            return laneway.sparse_alltoallv(COMM, [TO], sent, [rows]).data
        if name == "bcast":
            x = taken(sent.shape)
            _raw(x)[...] = _raw(sent)
            finish(getattr(laneway, form.format("bcast"))(COMM, x, root))
            return x
        many = {"allgather": SIZE * rows, "gather": SIZE * rows, "scatter": rows // SIZE}.get(name, rows)
        into = taken((many, *row))
        if name == "indexed":
            order = list(range(rows))[::-1]
            finish(self.ring.indexed_init(sent, [rows], order, into, [rows], order))
        elif name.startswith("topology"):
            counted = ([rows], into, [rows]) if name == "topology alltoallv" else (into,)
            operation = {"topology gather": "allgather"}.get(name, name.removeprefix("topology "))
            finish(getattr(self.ring, form.format(operation))(sent, *counted))
        else:
            # What is not significant on a rank may be anything.
            given = "not an array" if name == "scatter" and RANK != root else sent
            target = "not an array" if name == "gather" and RANK != root else into
            where = () if name in ("allgather", "alltoall") else (root,)
            finish(getattr(laneway, form.format(name))(COMM, given, target, *where))
        return into if name != "gather" or RANK == root else None


TOPOLOGY = ("topology alltoallv", "topology allgatherv", "topology gather", "topology alltoall", "indexed")
NAMES = ("allgather", "gather", "scatter", "alltoall", "bcast", *TOPOLOGY, "halo", "distributor", "sparse")
FORMS = {"indexed": ("",), "halo": ("",), "distributor": ("",), "sparse": ("",)}


def cases() -> Iterator[tuple[str, str, tuple[int, ...], str]]:
    """All of dtype, layout and shape in the long run; in the short one each pair of them."""
    layouts = list(LAYOUTS)
    for number, dtype in enumerate(NUMBERS + OTHERS):
        for turn, row in enumerate(ROWS):
            chosen = layouts if LONG else [layouts[(number + 3 * turn) % len(layouts)]]
            for layout in chosen:
                yield dtype, layout, row, layouts[(layouts.index(layout) + number) % len(layouts)]


@pytest.fixture(scope="module")
def moves() -> Moves:
    return Moves()


@pytest.mark.parametrize("name", NAMES)
def test_rows_arrive_as_bytes_do(name: str, moves: Moves) -> None:
    if name == "topology allgatherv" and not LONG:
        return
    forms = FORMS.get(name, ("{}", "i{}", "{}_init"))
    wrong = []
    for turn, (dtype, layout, row, asked) in enumerate(cases()):
        sent = LAYOUTS[layout](values(dtype, (2 * SIZE, *row), turn))
        # Every other array that is only sent is read-only.
        sent.flags.writeable = turn % 2 == 0 and name != "halo"
        root = turn % SIZE
        expected = plain(name, sent[:2] if name == "halo" else sent, row, sent.dtype, root)
        for form in forms if LONG else forms[turn % len(forms) :][:1]:
            made: list[Any] = []

            def taken(shape: tuple[int, ...], made: list[Any] = made, dtype: str = dtype, target: str = asked) -> Any:
                made.append(LAYOUTS[target](np.zeros(shape, dtype)))
                return made[-1]

            operation = {"topology allgatherv": "topology alltoallv"}.get(name, name)
            got = moves.run(operation, form, sent, taken, root)
            if expected is not None and (got is None or not equal(got, expected)):
                wrong.append((dtype, layout, row, asked, form))
            for array in made:
                whole = _owner(array)
                gaps = whole.tobytes().count(b"\xee") if whole.size > array.size else None
                if gaps is not None and gaps < (whole.nbytes - array.nbytes):
                    wrong.append((dtype, layout, row, asked, form, "a gap was written"))
            _fill_with_garbage(made)
        if turn % 40 == 0:
            gc.collect()
    everywhere(not wrong, (name, wrong[:4], len(wrong)))


@pytest.mark.parametrize("name", ["allreduce", "reduce", "scan", "exscan", "reduce_scatter_block"])
def test_numbers_are_combined_or_refused_by_kind(name: str) -> None:
    """As mpi4py combines them where MPI defines the operator; else a TypeError with the dtype and its kind on every rank."""
    operators = {"SUM": "iufc", "PROD": "iufc", "MAX": "iuf", "MIN": "iuf", "LAND": "biu", "LXOR": "biu", "BOR": "iu", "BXOR": "iu"}
    wrong = []
    for dtype in NUMBERS + OTHERS:
        kind = np.dtype(dtype)
        named = kind.isnative and kind.kind in "biufc" and dtype != "f2"
        for operator, kinds in operators.items():
            op = getattr(MPI, operator)
            x = (np.arange(SIZE * 3).reshape(SIZE, 3) % 2 + 1).astype(dtype) if named else values(dtype, (SIZE, 3), 0)
            result = np.zeros((1 if name == "reduce_scatter_block" else SIZE, 3), dtype)
            extra = (0,) if name == "reduce" else ()
            if dtype == "f2":  # MPI may have the type, or not
                continue
            if not named or kind.kind not in kinds:
                with pytest.raises(TypeError, match=rf"{name}: rank {RANK}: op: .*kind '{kind.kind}'"):
                    getattr(laneway, name)(COMM, x, result, op, *extra)
                continue
            expected = result.copy()
            try:
                getattr(COMM, name.capitalize())(x, expected, op, *extra)
            except MPI.Exception:  # defined by MPI, and missing in this library
                continue
            getattr(laneway, name)(COMM, x, result, op, *extra)
            if not equal(result, expected) and not (name == "exscan" and RANK == 0):
                wrong.append((dtype, operator, result.tolist(), expected.tolist()))
    everywhere(not wrong, (name, wrong[:3]))


def test_an_array_without_dimensions_is_one_row() -> None:
    total = np.zeros(())
    laneway.allreduce(COMM, np.array(2.5), total)
    gathered = np.zeros(SIZE, "i4")
    laneway.allgather(COMM, np.array(RANK, "i4"), gathered)
    everywhere(total == 2.5 * SIZE and gathered.tolist() == list(range(SIZE)), (total, gathered))


def test_python_objects_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="buffer: Python objects"):
        laneway.bcast(COMM, np.array([None]))
