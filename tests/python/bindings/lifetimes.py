"""Arrays, datatypes and requests that are gone or changed while they are used; arguments that are bad, or not significant, on one
rank; layouts that differ between ranks. Run by test_bindings.py."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from ranks import COMM, RANK, SIZE, everywhere

import laneway
from laneway import _buffers

TO, SOURCE = (RANK + 1) % SIZE, (RANK - 1) % SIZE


def test_datatypes_live_as_long_as_a_call_uses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """One layout for ever, and more others than are kept."""
    monkeypatch.setattr(_buffers._Types, "KEPT", 4)
    send = (np.arange(6.0) + 10 * RANK).reshape(6, 1)[::2, 0]
    want = np.concatenate([(np.arange(6.0) + 10 * rank)[::2] for rank in range(SIZE)])
    ring = laneway.Topology(COMM, [SOURCE], [TO])
    first = np.full((3, 2), -1.0)[:, 1]
    request = ring.alltoallv_init(send, [3], first, [3])
    wrong = []
    for turn in range(40):
        got = np.full((3 * SIZE, turn + 3), -1.0)[:, 1]
        laneway.allgather(COMM, send, got)
        if not (got == want).all():
            wrong.append((turn, got.tolist()))
    with request:
        pass
    everywhere(not wrong and first.tolist() == [10 * SOURCE, 10 * SOURCE + 2, 10 * SOURCE + 4], (wrong[:1], first))


@pytest.mark.parametrize("bytes_", [64, 800_000])
def test_what_was_put_is_kept_until_it_has_left(bytes_: int) -> None:
    laneway.Channel.prepare(COMM)
    number = bytes_ // 8
    with laneway.Channel(COMM, TO, "send", bytes_, 2) as out, laneway.Channel(COMM, SOURCE, "receive", bytes_, 2) as into:
        for turn in range(3):
            if turn:
                while not out.is_free(turn % 2):
                    pass
            out.put(np.full(number, 7.0 + turn), turn % 2)
            gc.collect()
            junk = [np.full(number, -1.0) for _ in range(4)]
            with into.wait(turn % 2) as received:
                everywhere((received.view(float) == 7.0 + turn).all() and len(junk) == 4, received.view(float))
        out.flush()
        everywhere(not out._sent)


def test_requests_keep_their_arrays_and_counts() -> None:
    ring = laneway.Topology(COMM, [SOURCE], [TO])
    got = np.zeros(50_000)
    for form in ("nonblocking", "persistent", "indexed"):
        got[:] = 0
        values = np.full(50_000, float(RANK))
        if form == "indexed":
            made = ring.indexed_init(values, np.array([50_000]), np.arange(50_000), got, [50_000], np.arange(50_000)[::-1])
        else:
            made = (ring.ialltoallv if form == "nonblocking" else ring.alltoallv_init)(values, np.array([50_000]), got, [50_000])
        del values
        gc.collect()
        junk = [np.full(50_000, -1.0) for _ in range(4)]
        with made:
            pass
        everywhere((got == SOURCE).all() and len(junk) == 4, form)


def test_buffers_of_another_layout_are_refused() -> None:
    ring = laneway.Topology(COMM, [SOURCE], [TO])
    send, recv = np.arange(8.0), np.zeros(8)
    request = ring.alltoallv_init(send, [8], recv, [8])
    for other in (np.zeros(4), np.zeros(16)[::2], np.zeros(8, "f4"), np.zeros(8, "i8"), np.zeros((8, 2))):
        with pytest.raises(
            ValueError, match=r"set_buffers: recv has shape .*; the request is of shape \(8,\), strides \(8,\), dtype float64"
        ):
            request.set_buffers(send, other)
        with pytest.raises(ValueError, match="set_buffers: send has shape"):
            request.set_buffers(other, recv)
    again = np.zeros(8)
    request.set_buffers(send + RANK, again)
    with request:
        pass
    everywhere((again == np.arange(8) + SOURCE).all() and not recv.any(), again)


def test_requests_of_a_halo_stay_with_their_arrays() -> None:
    halo = laneway.Halo(COMM, [RANK], [SOURCE] if SIZE > 1 else [])
    u, v = (np.array([10.0 * k + RANK, -1.0])[: 1 + halo.ghosts] for k in (1, 2))
    first, second = halo.exchange_init(u), halo.exchange_init(v)
    with first:
        # While one is under way, others are made and run.
        halo.exchange(v.copy())
    everywhere(SIZE == 1 or (u[1] == 10 + SOURCE and v[1] == -1), (u, v))
    with second:
        pass
    everywhere(SIZE == 1 or v[1] == 20 + SOURCE, v)


@pytest.mark.parametrize("what", ["halo", "accumulate", "distributor", "zero"])
def test_ranks_whose_layouts_differ_do_not_plan_alone(what: str) -> None:
    """The last rank has several rows, the others one or none: what is a new layout there is none here."""
    rows = 3 if RANK == SIZE - 1 else 0 if what == "zero" else 1
    before = sum(COMM.allgather(rows)[:RANK])
    layouts: tuple[Callable[[Any], Any], ...] = (
        lambda a: a,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: np.flip(np.flip(a, 0).copy(), 0),
    )
    plain = np.arange(4.0 * rows).reshape(rows, 4) + 100 * RANK
    ghost = [0] if RANK == SIZE - 1 and what not in ("zero", "distributor") and SIZE > 1 else []
    distributor = laneway.Distributor(COMM, [TO] * rows) if what == "distributor" else None
    halo = laneway.Halo(COMM, np.arange(before, before + rows), ghost) if what != "distributor" else None
    for turn, layout in enumerate(layouts):
        if distributor is not None:
            out = layout(np.zeros((len(distributor.sources), 4)))
            distributor.forward(layout(plain), out)
            expected = np.arange(4.0 * len(out)).reshape(-1, 4) + 100 * SOURCE
            everywhere((out == expected).all(), (turn, out))
            continue
        assert halo is not None
        x = layout(np.concatenate([plain, np.full((len(ghost), 4), 5.0)]))
        if what == "accumulate":
            halo.accumulate(x)
            everywhere((x[0] == np.arange(4) + (5 if RANK == 0 and SIZE > 1 else 0) + 100 * RANK).all(), (turn, x))
        else:
            halo.exchange(x)
            everywhere(not ghost or (x[-1] == np.arange(4)).all(), (turn, x))
        everywhere((x[1:rows] == plain[1:]).all())


def test_memory_of_a_halo_goes_by_the_number_of_indices() -> None:
    import resource

    far = 10**12
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    halo = laneway.Halo(COMM, [RANK * far, RANK * far + 7], [SOURCE * far + 7] if SIZE > 1 else [])
    x = np.array([10.0 * RANK, 10.0 * RANK + 1, -1.0])[: 2 + halo.ghosts]
    halo.exchange(x)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    everywhere((SIZE == 1 or x[2] == 10 * SOURCE + 1) and grown < 50_000, (x, grown))
    with pytest.raises(ValueError, match="which no rank owns"):
        laneway.Halo(COMM, [RANK * far], [RANK * far + 1])
    highest = int(np.iinfo(np.int64).max) - RANK
    everywhere(laneway.Halo(COMM, [highest], [highest + RANK] if RANK else []).ghosts == (1 if RANK else 0))


BAD_BLOCKS: tuple[tuple[Any, Any, str], ...] = (
    ([-1] * SIZE, None, r"counts\[0\] is -1"),
    ([1] * SIZE, [-3] * SIZE, r"displs\[0\] is -3"),
    ([1] * SIZE, [4] * SIZE, "reach row 5 of 4"),
    ([1] * SIZE, [2**63 - 1] * SIZE, "reach row 9223372036854775808 of 4"),
    ([2**62] * SIZE, None, "reach row"),
    ([1.9] * SIZE, None, "expected integers, got float64"),
    ([1] * (SIZE + 1), None, "has shape"),
    ([True] * SIZE, None, "expected integers, got bool"),
)


@pytest.mark.parametrize(("counts", "displs", "said"), BAD_BLOCKS)
def test_counts_and_displacements_are_checked_before_the_call(counts: Any, displs: Any, said: str) -> None:
    """The array is a part of a larger one, which a call would read and write."""
    x, good = np.zeros(20)[8:12], [0] * SIZE
    everyone = laneway.Topology(COMM, range(SIZE), range(SIZE))
    calls: dict[str, Callable[[], Any]] = {
        "alltoallv send": lambda: laneway.alltoallv(COMM, x, counts, np.zeros(4), good, displs),
        "alltoallv recv": lambda: laneway.alltoallv(COMM, np.zeros(4), good, x, counts, None, displs),
        "allgatherv": lambda: laneway.allgatherv(COMM, x, x, counts, displs),
        "gatherv": lambda: laneway.gatherv(COMM, x, x, counts, displs, RANK),
        "scatterv": lambda: laneway.scatterv(COMM, x, counts, x, displs, RANK),
        "topology send": lambda: everyone.alltoallv(x, counts, np.zeros(4), good, displs),
        "topology recv": lambda: everyone.alltoallv(np.zeros(4), good, x, counts, None, displs),
        "topology reduce": lambda: everyone.reduce(np.zeros(4), good, x, counts, MPI.SUM, None, displs),
        "topology allgatherv": lambda: everyone.allgatherv(x, x, counts, displs),
    }
    for name, call in calls.items():
        with pytest.raises((ValueError, TypeError), match=said):
            call()
        everywhere(not x.base.any(), name)


@pytest.mark.parametrize(
    ("counts", "indices", "said"),
    [
        ([100], [0], "sendcounts and displacements reach row 100 of 1"),
        ([], [], "sendcounts has shape"),
        ([1], [10], r"sendindices\[0\] is 10, and send has 10 rows"),
        ([1], [-1], r"sendindices\[0\] is -1"),
        ([1], [0.5], "expected integers"),
        ([-1], [0], r"sendcounts\[0\] is -1"),
    ],
)
def test_indices_are_checked_before_the_call(counts: list[int], indices: list[Any], said: str) -> None:
    ring, x = laneway.Topology(COMM, [SOURCE], [TO]), np.zeros(10)
    with pytest.raises((ValueError, TypeError), match=f"indexed_init: rank {RANK}: .*{said}|{said}"):
        ring.indexed_init(x, counts, indices, np.zeros(10), [0], [])


def test_numbers_that_are_no_c_ints_are_refused() -> None:
    x = np.zeros(SIZE)
    for call in (
        lambda: laneway.bcast(COMM, x, 2**32),
        lambda: laneway.gather(COMM, x[:1], x, 2**40),
        lambda: laneway.Topology(COMM, [2**32], []),
        lambda: laneway.Channel(COMM, 2**32, "send", 8),
        lambda: laneway.sparse_alltoallv(COMM, [SIZE], x, [1]),
        lambda: laneway.sparse_alltoallv(COMM, [-1], x, [1]),
        lambda: laneway.sparse_alltoallv(COMM, [0], x, [1], [-3]),
    ):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: laneway.Topology(COMM, [0.5], []), lambda: laneway.sparse_alltoallv(COMM, [0.9], x, [1])):
        with pytest.raises(TypeError):
            call()


def test_a_bad_argument_of_one_rank_ends_collective_makers_everywhere() -> None:
    """Of objects that are made by all ranks: no rank waits for one that has raised."""
    x = np.zeros(3)
    for call in (
        lambda bad: laneway.Halo(COMM, [RANK + 0.5] if bad else [RANK], []),
        lambda bad: laneway.sparse_alltoallv(COMM, [-1 if bad else 0], x, [1]),
        lambda bad: laneway.sparse_alltoallv(COMM, [0], x, [4 if bad else 1]),
        lambda bad: laneway.Distributor(COMM, [SIZE if bad else 0]),
    ):
        with pytest.raises((ValueError, TypeError, laneway.Error)):
            call(RANK == SIZE - 1)
        COMM.Barrier()


def test_what_is_not_significant_on_a_rank_is_not_looked_at() -> None:
    root = SIZE - 1
    is_root = RANK == root
    odd = np.broadcast_to(np.zeros(1, ">f8"), (SIZE + 1, 3))
    gathered, part = np.zeros(SIZE), np.zeros(1)
    for form in ("{}", "i{}", "{}_init"):

        def run(name: str, *arguments: Any) -> None:
            made = getattr(laneway, form.format(name))(COMM, *arguments)  # noqa: B023
            if made is not None:
                with made:
                    pass

        run("gather", np.array([float(RANK)]), gathered if is_root else odd, root)
        run("gatherv", np.array([float(RANK)]), *((gathered, [1] * SIZE) if is_root else (odd, [-1, 0.5])), None, root)
        run("scatter", np.arange(float(SIZE)) if is_root else odd, part, root)
        run("scatterv", *((np.arange(float(SIZE)), [1] * SIZE) if is_root else ("nothing", "nothing")), part, None, root)
        run("reduce", np.ones(1), part if is_root else odd, MPI.SUM, root)
        run("exscan", np.ones(1), part if RANK else None)
        everywhere(not is_root or gathered.tolist() == list(range(SIZE)), (form, gathered))
        everywhere(RANK == 0 or part[0] == RANK, (form, part))


def test_a_dtype_in_the_other_order_is_named() -> None:
    with pytest.raises(TypeError, match=rf"allreduce: rank {RANK}: op: cannot combine dtype >f8, kind 'f': MPI has no such type"):
        laneway.allreduce(COMM, np.ones(2, ">f8"), np.zeros(2, ">f8"))
    with pytest.raises(TypeError, match="kind 'M'"):
        laneway.allreduce(COMM, np.zeros(2, "M8[s]"), np.zeros(2, "M8[s]"))


class _Tensor:
    """A tensor of another library: `versioned` where its DLPack is new, else as before versions."""

    def __init__(self, array: Any, versioned: bool) -> None:
        self.array, self.versioned = array, versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        if not self.versioned:
            if options.keys() - {"stream"}:
                raise TypeError("unexpected keyword argument")
            return self.array.__dlpack__()
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [False, True])
def test_tensors_of_dlpack_receive(versioned: bool) -> None:
    if versioned and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy's DLPack has no versions")
    total, table = np.zeros(3), np.zeros((2 * SIZE, 6))
    laneway.allreduce(COMM, _Tensor(np.ones(3), versioned), _Tensor(total, versioned))
    laneway.allgather(COMM, _Tensor(np.full((2, 3), float(RANK)), versioned), _Tensor(table[:, ::2], versioned))
    everywhere((total == SIZE).all() and table[:, ::2].tolist() == [[r] * 3 for r in range(SIZE) for _ in range(2)], table)
    everywhere(not table[:, 1::2].any(), "gaps stay")
    if versioned:
        with pytest.raises(TypeError, match="recv: the array is read-only"):
            laneway.allreduce(COMM, np.ones(2), _Tensor(np.broadcast_to(np.zeros(1), 2), versioned))


def test_tensors_that_numpy_has_no_name_for_move() -> None:
    """bfloat16, by a capsule that is made here."""
    import ctypes

    from laneway import _dlpack

    def capsule(array: Any) -> Any:
        tensor = _dlpack._Tensor()
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor.data, tensor.device.type, tensor.ndim = array.ctypes.data, 1, array.ndim
        tensor.code, tensor.bits, tensor.lanes, tensor.shape = 4, 16, 1, shape
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        kept.append((tensor, shape, array))
        return new(ctypes.addressof(tensor), b"dltensor", None)

    class Tensor:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **_: Any) -> Any:
            return capsule(self.array)

    kept: list[Any] = []
    got = np.zeros(4 * SIZE, "u2")
    laneway.allgather(COMM, Tensor(np.full(4, RANK, "u2")), Tensor(got))
    everywhere(got.tolist() == [rank for rank in range(SIZE) for _ in range(4)], got)
    with pytest.raises(TypeError, match="op: cannot combine dtype .*kind 'V': MPI has no such type"):
        laneway.allreduce(COMM, Tensor(got), Tensor(got.copy()))


def test_conjugate_gradients_say_when_they_fail() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    from laneway.sparse import DistributedMatrix, NotConvergedError, cg

    n = 20 * SIZE
    whole = scipy.diags([-1, 2.5, -1], [-1, 0, 1], shape=(n, n), format="csr")
    mine = slice(20 * RANK, 20 * RANK + 20)
    matrix = DistributedMatrix(COMM, whole[mine])
    for b in (np.ones(20, int), [1] * 20, np.ones(20) * (1 + 2j), np.ones(20, "f4"), np.ones(20, int) if RANK else np.ones(20)):
        x, iterations = cg(matrix, b, 1e-5)
        everywhere(0 < iterations <= n and np.allclose(matrix @ x, np.asarray(b), atol=1e-3), (b, x))
    hermitian = (whole + scipy.diags([0.5j, -0.5j], [1, -1], shape=(n, n))).tocsr()
    complex_matrix = DistributedMatrix(COMM, hermitian[mine])
    x, _ = cg(complex_matrix, np.ones(20))
    everywhere(np.allclose(complex_matrix @ x, 1))
    for a, b, iterations in (
        (matrix, np.ones(20), 3),
        (matrix, np.full(20, np.nan), 50),
        (DistributedMatrix(COMM, -whole[mine]), np.ones(20), 50),
    ):
        with pytest.raises(NotConvergedError) as caught:
            cg(a, b, iterations=iterations)
        everywhere(caught.value.x.shape == (20,) and caught.value.iterations <= iterations)
    with pytest.raises(ValueError, match="cg: rank 0: b has shape"):
        cg(matrix, np.ones((20, 2)) if RANK == 0 else np.ones(20))
    everywhere(cg(matrix, np.zeros(20))[1] == 0)


def test_whole_numbers_on_one_rank_are_those_of_the_matrix() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    from laneway.sparse import DistributedMatrix

    whole = (scipy.eye(2 * SIZE, format="csr") + scipy.eye(2 * SIZE, k=1, format="csr")).tocsr()
    matrix = DistributedMatrix(COMM, whole[2 * RANK : 2 * RANK + 2])
    x = np.arange(2 * SIZE, dtype=float)
    mine = x[2 * RANK : 2 * RANK + 2]
    everywhere(np.allclose(matrix @ (mine.astype(int) if RANK == 0 else mine), (whole @ x)[2 * RANK : 2 * RANK + 2]))
    everywhere(np.allclose(matrix.T @ (mine.astype(int) if RANK == 0 else mine), (whole.T @ x)[2 * RANK : 2 * RANK + 2]))


def test_in_place_is_in_the_types(tmp_path: Path) -> None:
    if RANK:
        return
    pytest.importorskip("mypy")
    if MPI.Get_version() and not hasattr(MPI, "InPlaceType"):
        pytest.skip("this mpi4py has no type of MPI.IN_PLACE")
    (tmp_path / "typed.py").write_text(
        "import numpy as np\nfrom mpi4py import MPI\nimport laneway\ncomm = MPI.COMM_WORLD\nx = np.zeros(4)\n"
        "laneway.allreduce(comm, MPI.IN_PLACE, x)\nlaneway.scatter(comm, x, MPI.IN_PLACE)\nlaneway.gather(comm, x, None)\n"
        "laneway.Topology(comm, np.array([0]), [0])\nlaneway.exscan(comm, x, None)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(tmp_path / "typed.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
