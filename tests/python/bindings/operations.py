"""Operations of topologies and communicators in all forms, against messages of mpi4py between two ranks; run by test_bindings.py."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI
from ranks import COMM, DTYPES, RANK, SIZE, everywhere, filled, graphs, layouts, loop, same, strided

import laneway

TO, SOURCE = (RANK + 1) % SIZE, (RANK - 1) % SIZE


def done(made: Any) -> None:
    """Complete what a form has returned: nothing of a blocking one; a request is tested until it is complete."""
    if made is None:
        return
    if made.persistent:
        made.start()
    while not made.test():
        pass


def of_everyone(x: Any) -> list[Any]:
    """What each rank has, by a message from each to each."""
    found = [np.zeros_like(x) for _ in range(SIZE)]
    loop([(rank, x) for rank in range(SIZE)], list(enumerate(found)))
    return found


def in_order(edges: list[list[int]]) -> list[tuple[int, int]]:
    """The edges that end here, in the order of their sources: the source, and the edge's number there."""
    return [(rank, edge) for rank in range(SIZE) for edge, to in enumerate(edges[rank]) if to == RANK]


@same
@given(graphs, st.sampled_from(DTYPES), st.integers(0, 3), layouts)
def test_neighbors_send_equal_rows(edges: list[list[int]], dtype: str, rows: int, taken: str) -> None:
    """Allgather and alltoall of a topology, in three forms."""
    arriving = in_order(edges)
    topology = laneway.Topology(COMM, [source for source, _ in arriving], edges[RANK])
    degree = len(edges[RANK])
    for name, x in (("allgather", filled((rows, 2), dtype)), ("alltoall", filled((rows * degree, 2), dtype))):
        expected = np.zeros((rows * len(arriving), 2), dtype=dtype)
        blocks = [x] * degree if name == "allgather" else np.split(x, degree) if degree else []
        places = np.split(expected, len(arriving)) if arriving else []
        loop(list(zip(edges[RANK], blocks, strict=True)), [(source, place) for (source, _), place in zip(arriving, places, strict=True)])
        for form in ("{}", "i{}", "{}_init"):
            recv = strided(np.zeros_like(expected), taken)
            done(getattr(topology, form.format(name))(x, recv))
            everywhere(recv.tobytes() == expected.tobytes(), (form, name, dtype, taken))


OPERATORS: tuple[tuple[Any, Callable[..., Any]], ...] = ((MPI.SUM, np.add), (MPI.MAX, np.maximum), (MPI.BXOR, np.bitwise_xor))


@same
@given(graphs, st.data(), st.sampled_from(OPERATORS), layouts)
def test_neighbors_reduce_into_rows(edges: list[list[int]], data: Any, operator: tuple[Any, Callable[..., Any]], taken: str) -> None:
    """What arrives is combined with what is there, in three forms; several sources may name a row."""
    op, combine = operator
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=4 * SIZE, max_size=4 * SIZE))
    places = data.draw(st.lists(st.integers(0, 2), min_size=4 * SIZE, max_size=4 * SIZE))
    arriving = in_order(edges)
    sendcounts = [numbers[4 * RANK + edge] for edge in range(len(edges[RANK]))]
    recvcounts = [numbers[4 * source + edge] for source, edge in arriving]
    rdispls = [places[4 * source + edge] for source, edge in arriving]
    x, start = filled((sum(sendcounts), 2), "i8"), filled((6, 2), "i8", seed=1)
    arrived = [np.zeros((count, 2), "i8") for count in recvcounts]
    sent = np.split(x, np.cumsum(sendcounts)[:-1]) if sendcounts else []
    loop(list(zip(edges[RANK], sent, strict=True)), [(source, rows) for (source, _), rows in zip(arriving, arrived, strict=True)])
    expected = start.copy()
    for displ, rows in zip(rdispls, arrived, strict=True):
        expected[displ : displ + len(rows)] = combine(expected[displ : displ + len(rows)], rows)
    topology = laneway.Topology(COMM, [source for source, _ in arriving], edges[RANK])
    for form in (topology.reduce, topology.ireduce, topology.reduce_init):
        recv = strided(start, taken)
        done(form(x, sendcounts, recv, recvcounts, op, rdispls=rdispls))
        everywhere((recv == expected).all(), (form, op, taken))


@same
@given(st.data(), st.sampled_from(DTYPES), st.sampled_from(((), (3,))), st.integers(0, SIZE - 1))
def test_dense_operations_move_rows_as_messages_do(data: Any, dtype: str, row: tuple[int, ...], root: int) -> None:
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=SIZE**2, max_size=SIZE**2))).reshape(SIZE, SIZE)
    out, back = counts[RANK].tolist(), counts[:, RANK].tolist()
    uneven, even = filled((sum(out), *row), dtype), filled((2 * SIZE, *row), dtype, seed=1)
    exchanged, transposed = np.zeros((sum(back), *row), dtype), np.zeros_like(even)
    cut = lambda array, numbers: list(enumerate(np.split(array, np.cumsum(numbers)[:-1])))  # noqa: E731
    loop(cut(uneven, out), cut(exchanged, back))
    loop(cut(even, [2] * SIZE), cut(transposed, [2] * SIZE))
    gathered = np.concatenate(of_everyone(even[:2])).astype(dtype)
    scattered, given_out = np.zeros((2, *row), dtype), np.zeros_like(even)
    loop(cut(even, [2] * SIZE) if RANK == root else [], [(root, scattered)])
    loop([(rank, even) for rank in range(SIZE)] if RANK == root else [], [(root, given_out)])
    is_root = RANK == root
    for form in ("{}", "i{}", "{}_init"):

        def found(name: str, like: Any, *arguments: Any, after: tuple[Any, ...] = ()) -> Any:
            recv = np.zeros_like(like)
            done(getattr(laneway, form.format(name))(COMM, *arguments, recv, *after))  # noqa: B023
            return recv

        everywhere(found("alltoallv", exchanged, uneven, out, after=(back,)).tobytes() == exchanged.tobytes(), (form, "alltoallv"))
        everywhere(found("alltoall", transposed, even).tobytes() == transposed.tobytes(), (form, "alltoall"))
        everywhere(found("allgather", gathered, even[:2]).tobytes() == gathered.tobytes(), (form, "allgather"))
        everywhere(
            found("scatter", scattered, even if is_root else None, after=(root,)).tobytes() == scattered.tobytes(), (form, "scatter")
        )
        everywhere(found("gather", gathered, even[:2], after=(root,)).tobytes() == gathered.tobytes() or not is_root, (form, "gather"))
        buffer = even.copy()
        done(getattr(laneway, form.format("bcast"))(COMM, buffer, root))
        everywhere(buffer.tobytes() == given_out.tobytes(), (form, "bcast"))


@same
@given(st.sampled_from(OPERATORS), st.sampled_from(((), (3,))), st.integers(0, SIZE - 1))
def test_dense_operations_combine_what_messages_bring(operator: tuple[Any, Callable[..., Any]], row: tuple[int, ...], root: int) -> None:
    op, combine = operator
    x = filled((SIZE, *row), "i8") % 1000
    parts = of_everyone(x)
    upto = [parts[0]]
    for part in parts[1:]:
        upto.append(combine(upto[-1], part))
    untouched = np.full_like(x, 77)
    wanted = {
        "allreduce": upto[-1],
        "reduce": upto[-1] if RANK == root else untouched,
        "reduce_scatter_block": upto[-1][RANK : RANK + 1],
        "scan": upto[RANK],
        "exscan": upto[RANK - 1] if RANK else untouched,
    }
    for name, expected in wanted.items():
        for form in ("{}", "i{}", "{}_init"):
            recv = np.full_like(expected, 77)
            done(getattr(laneway, form.format(name))(COMM, x, recv, op, *([root] if name == "reduce" else [])))
            everywhere((recv == expected).all(), (form, name, recv, expected))


def test_a_request_is_tested_until_it_is_complete() -> None:
    """No as long as its source has not started, which rank 0 does once rank 1 has tested; then yes, also where it is inactive."""
    topology = laneway.Topology(COMM, [SOURCE], [TO])
    recv = np.zeros(2)
    request = topology.alltoallv_init(np.array([RANK, 7.0]), [2], recv, [2])
    for turn in range(3):
        recv[:] = -1
        COMM.Barrier()
        was_early = COMM.recv(source=1, tag=98) if RANK == 0 and SIZE > 1 else False
        request.start()
        if RANK == 1:
            COMM.send(any(request.test() for _ in range(20)), 0, 98)
        while not request.test():
            pass
        everywhere(not was_early and request.test() and recv.tolist() == [SOURCE, 7.0], (turn, was_early, recv))


def test_a_function_is_called_at_each_end() -> None:
    """With code 0 and what has come there, until it is taken away; of a nonblocking request, too."""
    topology = laneway.Topology(COMM, [SOURCE], [TO])
    recv = np.zeros(2)
    request = topology.alltoallv_init(np.array([RANK, 7.0]), [2], recv, [2])
    seen: list[tuple[int, list[float]]] = []
    request.on_complete(lambda code: seen.append((code, recv.tolist())))
    gc.collect()
    for turn in range(3):
        recv[:] = -1
        with request:
            pass
        everywhere(seen == [(0, [SOURCE, 7.0])] * (turn + 1), seen)
    counted = laneway.counters()
    assert laneway.control_variables()["lnw_exchanges"].isdigit()
    request.on_complete(None)
    with request:
        pass
    everywhere(len(seen) == 3, seen)
    everywhere(laneway.counters()["exchanges"] == counted["exchanges"] + 1, counted)
    ends: list[int] = []
    once = topology.ialltoallv(np.array([RANK, 7.0]), [2], recv, [2])
    once.on_complete(ends.append)
    once.wait()
    everywhere(ends == [0], ends)


def test_requests_of_halos_compute_in_between() -> None:
    """``exchange_init`` and ``accumulate_init``: work between start and the end, and the same requests again."""
    owned = np.arange(2 * RANK, 2 * RANK + 2)
    halo = laneway.Halo(COMM, owned, [2 * TO] if SIZE > 1 else [])
    x = np.concatenate([10.0 * owned, np.zeros(halo.ghosts)])
    exchange, accumulate = halo.exchange_init(x), halo.accumulate_init(x, MPI.SUM)
    for turn in range(3):
        x[:2] = 10 * owned + turn
        with exchange:
            between = x[1] + 1
        everywhere(x[2:].tolist() == ([20.0 * TO + turn] if SIZE > 1 else []) and between == 10 * owned[1] + turn + 1, x)
        x[2:] = RANK + 1
        with accumulate:
            pass
        added = SOURCE + 1 if SIZE > 1 else 0
        everywhere(x[:2].tolist() == [20 * RANK + turn + added, 10 * owned[1] + turn], x)
        everywhere(x[2:].tolist() == ([RANK + 1] if SIZE > 1 else []), "ghosts stay as they are")


def test_channels_are_flushed_and_tested() -> None:
    """``flush`` gives `data` back before the receiver has looked; ``test`` says nothing is there until something is."""
    laneway.Channel.prepare(COMM)
    with laneway.Channel(COMM, TO, "send", 64, 2) as out, laneway.Channel(COMM, SOURCE, "receive", 64, 2) as into:
        everywhere(into.test(0) is None and into.test(1) is None)
        data = np.array([RANK, 5], dtype="i8")
        out.put(data, 1)
        out.flush()
        data[:] = -1
        while (received := into.test(1)) is None:
            pass
        everywhere(received.view("i8").tolist() == [SOURCE, 5] and into.test(0) is None, received.data)
        everywhere(not out.is_free(1))
        received.release()
        while not out.is_free(1):
            pass
        everywhere(into.test(1) is None)
