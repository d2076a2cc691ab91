"""The Python package against loops of Isend and Irecv; run by test_bindings.py under several ranks."""

from __future__ import annotations

import doctest
import importlib
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI
from ranks import COMM, DTYPES, RANK, SIZE, everywhere, filled, graphs, layouts, loop, same, strided

import laneway


@same
@given(graphs, st.data(), st.sampled_from(DTYPES), st.sampled_from(((), (3,), (2, 2))), layouts, layouts)
def test_alltoallv_is_the_loop(edges: list[list[int]], data: Any, dtype: str, row: tuple[int, ...], sent: str, taken: str) -> None:
    destinations = edges[RANK]
    sources = [rank for rank in range(SIZE) for to in edges[rank] if to == RANK]
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=4 * SIZE, max_size=4 * SIZE))
    count = lambda rank, edge: numbers[4 * rank + edge]  # noqa: E731
    sendcounts = [count(RANK, edge) for edge in range(len(destinations))]
    recvcounts = [count(rank, edge) for rank in range(SIZE) for edge, to in enumerate(edges[rank]) if to == RANK]
    x = filled((sum(sendcounts), *row), dtype)
    expected = np.zeros((sum(recvcounts), *row), dtype=dtype)
    cut = lambda array, counts: np.split(array, np.cumsum(counts)[:-1]) if counts else []  # noqa: E731
    loop(list(zip(destinations, cut(x, sendcounts), strict=True)), list(zip(sources, cut(expected, recvcounts), strict=True)))

    topology = laneway.Topology(COMM, sources, destinations)
    send = strided(x, sent)
    for form in ("blocking", "nonblocking", "persistent"):
        recv = strided(np.zeros_like(expected), taken)
        if form == "blocking":
            topology.alltoallv(send, sendcounts, recv, recvcounts)
        elif form == "nonblocking":
            topology.ialltoallv(send, sendcounts, recv, recvcounts).wait()
        else:
            request = topology.alltoallv_init(send, sendcounts, recv, recvcounts)
            for _ in range(2):
                recv[...] = np.zeros_like(expected)
                with request:
                    pass
        everywhere(recv.tobytes() == expected.tobytes(), (form, dtype, row, sent, taken))


def ghosts_of(wanted: list[list[int]], owned: list[list[int]], rank: int = RANK) -> list[int]:
    mine = set(owned[rank])
    return [index for index in dict.fromkeys(wanted[rank]) if index not in mine]


Places = list[tuple[int, list[int]]]


def places_of_ghosts(owned: list[list[int]], wanted: list[list[int]]) -> tuple[Places, Places]:
    """By hand, from what all ranks have drawn: owners with the places of this rank's ghosts, and who asks this rank with the places
    of its own elements, both in the order of the asking rank's ghosts."""

    def of(rank: int, owner: int, in_ghosts: bool) -> list[int]:
        names = [(place, name) for place, name in enumerate(ghosts_of(wanted, owned, rank)) if name in owned[owner]]
        return [place if in_ghosts else owned[owner].index(name) for place, name in names]

    asked = [(owner, of(RANK, owner, True)) for owner in range(SIZE)]
    answering = [(rank, of(rank, RANK, False)) for rank in range(SIZE)]
    return [pair for pair in asked if pair[1]], [pair for pair in answering if pair[1]]


@st.composite
def ownerships(draw: Callable[..., Any]) -> tuple[list[list[int]], list[list[int]]]:
    """Owned and wanted indices of each rank: any owner for any index, with gaps, in any order."""
    total = draw(st.integers(1, 6 * SIZE))
    names = [5 * index + 2 for index in draw(st.permutations(range(total)))]
    owners = draw(st.lists(st.integers(0, SIZE - 1), min_size=total, max_size=total))
    owned = [[name for name, owner in zip(names, owners, strict=True) if owner == rank] for rank in range(SIZE)]
    wanted = [draw(st.lists(st.sampled_from(names), max_size=8)) for _ in range(SIZE)]
    return owned, wanted


@same
@given(ownerships(), st.sampled_from(("f8", "i4", "f4,i8")), st.sampled_from(((), (3,))), layouts)
def test_halo_fills_ghosts_with_what_their_owners_have(
    indices: tuple[list[list[int]], list[list[int]]], dtype: str, row: tuple[int, ...], how: str
) -> None:
    owned, wanted = indices
    ghosts = ghosts_of(wanted, owned)
    halo = laneway.Halo(COMM, np.array(owned[RANK], dtype=int), np.array(ghosts, dtype=int))
    mine = filled((len(owned[RANK]), *row), dtype)
    expected = np.zeros((len(mine) + len(ghosts), *row), dtype=dtype)
    expected[: len(mine)] = mine
    asked, answering = places_of_ghosts(owned, wanted)
    arriving = [(owner, np.zeros((len(places), *row), dtype=dtype)) for owner, places in asked]
    loop([(to, mine[places]) for to, places in answering], arriving)
    for (_, places), (_, rows) in zip(asked, arriving, strict=True):
        expected[len(mine) + np.array(places)] = rows
    x = strided(np.concatenate([mine, np.zeros((len(ghosts), *row), dtype=dtype)]), how)
    halo.exchange(x)
    everywhere(x.tobytes() == expected.tobytes(), (dtype, row, how))


@same
@given(ownerships(), st.sampled_from(((), (3,))), layouts)
def test_halo_sums_ghosts_into_their_owners(indices: tuple[list[list[int]], list[list[int]]], row: tuple[int, ...], how: str) -> None:
    owned, wanted = indices
    ghosts = ghosts_of(wanted, owned)
    halo = laneway.Halo(COMM, np.array(owned[RANK], dtype=int), np.array(ghosts, dtype=int))
    values = filled((len(owned[RANK]) + len(ghosts), *row), "i8")
    held = values[len(owned[RANK]) :]
    expected = values.copy()
    asked, answering = places_of_ghosts(owned, wanted)
    arriving = [(source, np.zeros((len(places), *row), "i8")) for source, places in answering]
    loop([(owner, held[places]) for owner, places in asked], arriving)
    for (_, places), (_, rows) in zip(answering, arriving, strict=True):
        np.add.at(expected, places, rows)
    x = strided(values, how)
    halo.accumulate(x)
    everywhere((x == expected).all(), (row, how))


def test_halo_has_one_topology_for_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def make(*arguments: Any, **hints: Any) -> laneway.Topology:
        made.append(arguments)
        return laneway.Topology(*arguments, **hints)

    monkeypatch.setattr("laneway._halo.Topology", make)
    halo = laneway.Halo(COMM, np.array([RANK]), np.array([(RANK + 1) % SIZE]))
    x = np.array([10.0 + RANK, 0.0])
    halo.exchange(x)
    halo.accumulate(x)
    halo.accumulate(x, MPI.MAX)
    # The ghost of the rank before is a copy of what this one had.
    everywhere(len(made) == 1 and x[0] == 2 * (10.0 + RANK), (made, x))


@same
@given(st.lists(st.lists(st.integers(0, SIZE - 1), max_size=6), min_size=SIZE, max_size=SIZE), st.sampled_from(((), (2,))))
def test_distributor_goes_there_and_back(destinations: list[list[int]], row: tuple[int, ...]) -> None:
    distributor = laneway.Distributor(COMM, destinations[RANK])
    x = filled((len(destinations[RANK]), *row), "i8")
    arrived = distributor.forward(x)
    places = [[i for i, to in enumerate(destinations[RANK]) if to == rank] for rank in range(SIZE)]
    arriving = [(rank, np.zeros((destinations[rank].count(RANK), *row), "i8")) for rank in range(SIZE)]
    loop([(rank, x[places[rank]]) for rank in range(SIZE)], arriving)
    expected = [(rank, value.tolist()) for rank, rows in arriving for value in rows]
    got = list(zip(distributor.sources.tolist(), arrived.tolist(), strict=True))
    everywhere(got == expected, (got, expected))
    everywhere((distributor.backward(arrived) == x).all())


def test_ghosts_without_an_owner_are_an_error_on_all_ranks() -> None:
    bad = [RANK, 77] if RANK == SIZE - 1 else []
    with pytest.raises(ValueError, match=rf"Halo: rank {SIZE - 1}: ghosts\[1\] is 77, which no rank owns"):
        laneway.Halo(COMM, [RANK], bad)
    with pytest.raises(ValueError, match="is negative"):
        laneway.Halo(COMM, [RANK], [-1] if RANK == 0 else [])
    with pytest.raises(ValueError, match="index 0 of owned is named by several ranks, or twice"):
        laneway.Halo(COMM, [0, 0], [])


def test_errors_have_the_librarys_text() -> None:
    with pytest.raises(laneway.Error) as caught:
        laneway.Topology(COMM, [SIZE], [])
    everywhere("sources" in str(caught.value), caught.value)
    topology = laneway.Topology(COMM, [RANK], [RANK])
    x = np.zeros(1)
    with pytest.raises(laneway.Error, match="lnw_strategy"):
        topology.alltoallv_init(x, [1], np.zeros(1), [1], strategy="nowhere")
    with pytest.raises(ValueError, match=rf"alltoallv: rank {RANK}: sendcounts and displacements reach row 2 of 1"):
        topology.alltoallv(x, [2], np.zeros(1), [1])
    with pytest.raises(ValueError, match="there are 1 neighbours"):
        topology.alltoallv(x, [1, 1], np.zeros(1), [1])
    with pytest.raises(TypeError, match="recv: the array is read-only"):
        topology.alltoallv(x, [1], np.broadcast_to(0.0, 1), [1])
    with pytest.raises(TypeError, match="send: expected an array, got list"):
        topology.alltoallv([1.0], [1], x, [1])
    with pytest.raises(TypeError, match="Python objects"):
        topology.alltoallv(np.array([None]), [1], x, [1])
    request = topology.alltoallv_init(x, [1], np.zeros(1), [1])
    request.start()
    with pytest.raises(laneway.Error):
        request.start()
    request.wait()
    request.free()


def test_dense_operations_are_mpis() -> None:
    x = filled((SIZE, 2), "i8")
    theirs, ours = np.zeros_like(x), np.zeros_like(x)
    COMM.Alltoall(x, theirs)
    laneway.alltoall(COMM, x, ours)
    everywhere((ours == theirs).all(), "alltoall")
    with laneway.alltoall_init(COMM, x, np.zeros_like(x)):
        pass
    theirs, ours = np.zeros((2 * SIZE, 2), "i8"), np.zeros((2 * SIZE, 2), "i8")
    COMM.Allgather(x[:2] if SIZE > 1 else np.repeat(x, 2, axis=0), theirs)
    laneway.allgather(COMM, x[:2] if SIZE > 1 else np.repeat(x, 2, axis=0), ours)
    everywhere((ours == theirs).all(), "allgather")
    for name in ("allreduce", "scan"):
        theirs, ours = np.zeros_like(x), np.zeros_like(x)
        getattr(COMM, name.capitalize())(x, theirs, op=MPI.MAX)
        getattr(laneway, name)(COMM, x, ours, op=MPI.MAX)
        everywhere((ours == theirs).all(), name)
        ours[...] = 0
        getattr(laneway, f"i{name}")(COMM, x, ours, op=MPI.MAX).wait()
        everywhere((ours == theirs).all(), f"i{name}")
        ours[...] = 0
        with getattr(laneway, f"{name}_init")(COMM, x, ours, op=MPI.MAX):
            pass
        everywhere((ours == theirs).all(), f"{name}_init")
    ours = x.copy()
    laneway.allreduce(COMM, MPI.IN_PLACE, ours)
    everywhere((ours == COMM.allreduce(x)).all(), "in place")
    ours = x.copy()
    laneway.reduce_scatter_block(COMM, MPI.IN_PLACE, ours)
    everywhere((ours[:1] == COMM.allreduce(x)[RANK]).all(), "reduce_scatter_block in place")
    root = SIZE - 1
    ours = x.copy()
    laneway.bcast(COMM, ours, root)
    everywhere((ours == COMM.bcast(x, root)).all(), "bcast")
    gathered = np.zeros((SIZE, 2), "i8") if RANK == root else None
    laneway.gather(COMM, x[:1], gathered, root)
    firsts = np.concatenate(COMM.allgather(x[:1]))
    everywhere(gathered is None or (gathered == firsts).all(), "gather")
    part = np.zeros((1, 2), "i8")
    laneway.scatter(COMM, x if RANK == root else None, part, root)
    everywhere((part == COMM.bcast(x, root)[RANK]).all(), "scatter")
    laneway.reduce_scatter_block(COMM, x, part)
    everywhere((part == COMM.allreduce(x)[RANK]).all(), "reduce_scatter_block")
    summed = np.zeros_like(x) if RANK == root else None
    total = COMM.allreduce(x)
    laneway.reduce(COMM, x, summed, root=root)
    everywhere(summed is None or (summed == total).all(), "reduce")
    laneway.barrier(COMM)
    laneway.ibarrier(COMM).wait()
    with laneway.barrier_init(COMM):
        pass


@same
@given(
    st.lists(st.integers(0, 4), min_size=SIZE, max_size=SIZE),
    st.sampled_from(DTYPES),
    st.sampled_from(((), (3,))),
    st.integers(0, SIZE - 1),
)
def test_uneven_dense_operations_are_mpi4pys(counts: list[int], dtype: str, row: tuple[int, ...], root: int) -> None:
    """In three forms, with gaps between the blocks, against objects that mpi4py gathers and scatters."""
    mine = filled((counts[RANK], *row), dtype)
    displs = np.cumsum([count + 1 for count in counts]) - counts
    whole = filled((sum(counts) + SIZE, *row), dtype, seed=1)
    parts = COMM.allgather(mine)
    gathered = COMM.bcast(np.zeros((sum(counts) + SIZE, *row), dtype), 0)
    for displ, part in zip(displs, parts, strict=True):
        gathered[displ : displ + len(part)] = part
    scattered = COMM.bcast(whole, root)[displs[RANK] : displs[RANK] + counts[RANK]]
    is_root = root == RANK
    for form in ("{}", "i{}", "{}_init"):

        def run(name: str, *arguments: Any) -> None:
            made = getattr(laneway, form.format(name))(COMM, *arguments)  # noqa: B023
            if made is not None:
                with made:
                    pass

        found = np.zeros_like(gathered)
        run("allgatherv", mine, found, counts, displs)
        everywhere(found.tobytes() == gathered.tobytes(), (form, "allgatherv"))
        found = np.zeros_like(gathered)
        run("gatherv", mine, *((found, counts, displs) if is_root else (None, None, None)), root)
        everywhere(not is_root or found.tobytes() == gathered.tobytes(), (form, "gatherv"))
        part = np.zeros_like(mine)
        run("scatterv", *((whole, counts) if is_root else (None, None)), part, displs if is_root else None, root)
        everywhere(part.tobytes() == scattered.tobytes(), (form, "scatterv"))
        numbers = filled((sum(counts), *row), "i8")
        part = np.zeros((counts[RANK], *row), "i8")
        run("reduce_scatter", numbers, part, counts)
        begin = sum(counts[:RANK])
        everywhere((part == COMM.allreduce(numbers)[begin : begin + counts[RANK]]).all(), (form, "reduce_scatter"))


@same
@given(graphs, st.data(), st.sampled_from(DTYPES), layouts)
def test_neighbors_gather_uneven_rows(edges: list[list[int]], data: Any, dtype: str, taken: str) -> None:
    rows = data.draw(st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE))
    sources = [rank for rank in range(SIZE) for to in edges[rank] if to == RANK]
    x = filled((rows[RANK], 2), dtype)
    everyone = COMM.allgather(x)
    # Concatenation gives the processor's own order of bytes.
    expected = np.concatenate([np.zeros((0, 2), dtype), *(everyone[source] for source in sources)]).astype(dtype)
    topology = laneway.Topology(COMM, sources, edges[RANK])
    for form in (topology.allgatherv, topology.iallgatherv, topology.allgatherv_init):
        recv = strided(np.zeros_like(expected), taken)
        made = form(x, recv, [rows[source] for source in sources])
        if made is not None:
            with made:
                pass
        everywhere(recv.tobytes() == expected.tobytes(), (form, dtype, taken))


def test_what_is_missing_is_named() -> None:
    x = np.zeros(SIZE)
    for call in (lambda: laneway.allreduce(COMM, x, None), lambda: laneway.allgather(COMM, None, x)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="expected an array, got NoneType"):
            call()
    if RANK == 0:
        with pytest.raises(TypeError, match="recv: expected an array, got NoneType"):
            laneway.reduce(COMM, x)
    with pytest.raises(ValueError, match="send has shape"):
        laneway.allreduce(COMM, x, np.zeros(SIZE + 1))
    with pytest.raises(ValueError, match="recvcounts are 0 rows, and there are"):
        laneway.reduce_scatter(COMM, x, x, [0] * SIZE)


def test_forms_have_signatures_and_docstrings() -> None:
    import inspect

    for name in ("alltoallv", "reduce_scatter", "bcast"):
        for form in (name, f"i{name}", f"{name}_init"):
            function = getattr(laneway, form)
            assert function.__name__ == form and function.__doc__.startswith(getattr(laneway, name).__doc__[:20])
            assert ("hints" in inspect.signature(function).parameters) == form.endswith("_init")
    assert list(inspect.signature(laneway.Topology.alltoallv).parameters)[:3] == ["self", "send", "sendcounts"]


def test_channels_hand_over_the_segment_itself() -> None:
    laneway.Channel.prepare(COMM)
    to, source = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    with laneway.Channel(COMM, to, "send", 64, 2) as out, laneway.Channel(COMM, source, "receive", 64, 2) as into:
        for turn in range(4):
            out.put(np.array([RANK, turn], dtype="i8"), turn % 2)
            with into.wait(turn % 2) as received:
                everywhere(received.view("i8").tolist() == [source, turn], received.data)
            while not out.is_free(turn % 2):
                pass
        everywhere(out.info["lnw_carrier"] in ("memory", "messages"))
    with pytest.raises(ValueError, match="role is 'both'"):
        laneway.Channel(COMM, to, "both", 8)  # type: ignore[arg-type]


def test_a_distributed_matrix_multiplies_as_scipy() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    from laneway.sparse import DistributedMatrix, cg

    ours = 3 + RANK
    total = sum(COMM.allgather(ours))
    begin = sum(COMM.allgather(ours)[:RANK])
    whole = scipy.random(total, total, 0.4, random_state=5, format="csr")
    matrix = DistributedMatrix(COMM, whole[begin : begin + ours])
    for x in (np.arange(total, dtype=float), np.arange(2.0 * total).reshape(total, 2)):
        everywhere(np.allclose(matrix @ x[begin : begin + ours], (whole @ x)[begin : begin + ours]))
        everywhere(np.allclose(matrix.T @ x[begin : begin + ours], (whole.T @ x)[begin : begin + ours]))
    laplace = scipy.diags([-1, 2.5, -1], [-1, 0, 1], shape=(total, total), format="csr")
    matrix = DistributedMatrix(COMM, laplace[begin : begin + ours])
    found, _ = cg(matrix, np.ones(ours))
    everywhere(np.allclose(matrix @ found, 1))


def test_requests_tell_of_themselves() -> None:
    to, source = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    topology = laneway.Topology(COMM, [source], [to], strategy="direct")
    request = topology.alltoallv_init(np.zeros(2), [2], np.zeros(2), [2])
    assert request.strategy == "direct"
    assert request.plan["rank"] == RANK
    table = request.explain()
    assert str(table).startswith("strategy") and "<table><tr><th>strategy</th><td>direct</td>" in table._repr_html_()


def test_nothing_is_copied() -> None:
    large = np.zeros((1 << 20,), dtype="f8")
    topology = laneway.Topology(COMM, [RANK], [RANK])
    recv = np.zeros_like(large)
    request = topology.alltoallv_init(large[::1], [len(large)], recv, [len(recv)])
    assert [array.address for array in request._arrays] == [large.ctypes.data, recv.ctypes.data]
    halo = laneway.Halo(COMM, np.arange(1000 * RANK, 1000 * RANK + 1000), [(1000 * RANK + 1000) % (1000 * SIZE)] if SIZE > 1 else [])
    x = np.zeros((halo.owned + halo.ghosts, 64))[:, ::2]

    def all_forms() -> None:
        with request:
            pass
        halo.exchange(x)
        topology.alltoallv(large, [len(large)], recv, [len(recv)])

    all_forms()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(10):
        all_forms()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    # NumPy's allocations are traced: one copy of `large` would be 8 MiB, one of `x` 256 KiB.
    everywhere(peak < 32_000, peak)


class OnADevice:
    """Stands in for an array on a GPU: memory of the host behind the interface of one."""

    def __init__(self, array: Any, stream: int | None = None) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array.__array_interface__, "version": 3, "stream": stream}
        self.__cuda_array_interface__["strides"] = array.strides


def test_arrays_behind_the_cuda_array_interface() -> None:
    to, source = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    topology = laneway.Topology(COMM, [source], [to])
    x, y = filled((3, 4), "f8"), np.zeros((3, 4))
    topology.alltoallv(OnADevice(x[:, ::2]), [3], OnADevice(y[:, 1::2]), [3])
    everywhere((y[:, 1::2] == COMM.allgather(x)[source][:, ::2]).all())
    # No plugin is loaded that knows the stream: the library says so, in place of leaving it out.
    ordered = OnADevice(x, stream=1)
    for call in (topology.alltoallv, topology.alltoallv_init, topology.ialltoallv, lambda x, _, y, __: laneway.allreduce(COMM, x, y)):
        with pytest.raises(laneway.Error, match="a stream is given, but no device plugin is loaded"):
            call(ordered, [3], np.zeros((3, 4)), [3])


def test_arrays_behind_dlpack() -> None:
    class Foreign:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    x, y = filled((3, 4), "f8"), np.zeros((3, 4))
    laneway.Topology(COMM, [RANK], [RANK]).alltoallv(Foreign(x), [3], y, [3])
    everywhere((x == y).all())


@pytest.mark.parametrize(
    "module", ["_topology", "_halo", "_discovery", "_dense", "_channel", "_request", "_partitioned", "_bag", "_queue", "sparse"]
)
def test_examples_in_the_docstrings_run(module: str) -> None:
    if module == "sparse":
        pytest.importorskip("scipy.sparse")
    # What an example does not import itself: `comm` is a communicator of the program.
    result = doctest.testmod(importlib.import_module(f"laneway.{module}"), extraglobs={"comm": COMM, "laneway": laneway, "np": np})
    everywhere(result.failed == 0 and result.attempted > 4, result)


def test_the_page_runs() -> None:
    pytest.importorskip("scipy.sparse")
    page = (Path(__file__).parents[3] / "docs/use/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 7
    exec(compile("\n".join(blocks), "docs/use/python.md", "exec"), {})
