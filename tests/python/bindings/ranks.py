"""What the modules of this folder share: the ranks, arrays that differ on each, and loops of Isend and Irecv to compare with."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
# All ranks draw the same examples.
same = settings(max_examples=12 if os.environ.get("LANEWAY_TEST_LONG") else 6, derandomize=True, database=None, deadline=None)
DTYPES = ("f8", "i4", "c16", "i1", ">i4", "f4,i8")


def everywhere(good: Any, what: object = "") -> None:
    """A rank that failed alone would leave the others in a collective call."""
    failed = COMM.allgather(None if good else f"rank {RANK}: {what}")
    assert not any(failed), failed


def loop(sends: list[tuple[int, Any]], receives: list[tuple[int, Any]]) -> None:
    """Contiguous blocks to and from ranks, in the order of edges."""
    requests = [COMM.Irecv([block.view(np.uint8), MPI.BYTE], source, 7) for source, block in receives if block.size]
    requests += [COMM.Isend([block.view(np.uint8), MPI.BYTE], to, 7) for to, block in sends if block.size]
    MPI.Request.Waitall(requests)


def filled(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    # Of one seed a rank, so that a byte in the wrong place shows.
    found = np.random.default_rng(1000 * seed + RANK).integers(0, 100, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
    if np.dtype(dtype).names or np.dtype(dtype).kind in "iu":
        return found.view(dtype).reshape(shape)
    return found.sum(axis=-1).astype(dtype)


def strided(array: Any, how: str) -> Any:
    """The same values elsewhere: contiguous, every second column, by columns, or every second row."""
    if how == "rows":
        return np.repeat(array, 2, axis=0)[::2]
    if array.ndim > 1 and how == "columns":
        return np.repeat(array, 2, axis=1)[:, ::2]
    return np.asfortranarray(array) if how == "fortran" else array.copy()


graphs = st.lists(st.lists(st.integers(0, SIZE - 1), max_size=4), min_size=SIZE, max_size=SIZE)
layouts = st.sampled_from(("plain", "rows", "columns", "fortran"))
