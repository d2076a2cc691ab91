"""The families beside neighborhoods and collectives, against messages of mpi4py or what each rank knows; run by test_bindings.py."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from ranks import COMM, RANK, SIZE, everywhere, loop

import laneway

TO, SOURCE = (RANK + 1) % SIZE, (RANK - 1) % SIZE


def ring() -> laneway.Topology:
    return laneway.Topology(COMM, [SOURCE], [TO])


def test_requests_are_started_and_completed_together() -> None:
    topology = ring()
    sent, received = np.arange(3.0) + 10 * RANK, np.zeros((3, 1))
    requests = [topology.allgather_init(sent[i : i + 1], received[i]) for i in range(3)]
    for complete in ("waitall", "testall", "waitany", "testany", "waitsome", "testsome"):
        received[:] = -1
        laneway.startall(requests)
        left = set(range(3))
        while left:
            found = getattr(laneway, complete)(requests)
            if complete == "waitall" or found is True:
                left.clear()
            elif isinstance(found, list):
                left -= set(found)
            elif found is not None and found is not False:
                left.remove(found)
        everywhere((received[:, 0] == np.arange(3.0) + 10 * SOURCE).all(), complete)
    everywhere(laneway.waitany(requests) is None and laneway.waitsome(requests) == [], "none is active")
    laneway.waitall([])
    under_way = [topology.iallgather(sent[i : i + 1], received[i]) for i in range(2)]
    laneway.waitall(under_way)
    everywhere(all(request._state.value is None for request in under_way), "nonblocking requests are freed")


def test_topologies_come_from_a_communicator_or_one_side() -> None:
    grid = COMM.Create_cart([SIZE], periods=[False])
    with laneway.Topology.from_comm(grid) as line:
        expected = [rank if 0 <= rank < SIZE else MPI.PROC_NULL for rank in (RANK - 1, RANK + 1)]
        everywhere(line.sources == expected and line.destinations == expected, line)
    # Every rank sends to all before it.
    for made in (
        laneway.Topology.from_destinations(COMM, range(RANK)),
        laneway.Topology.from_sources(COMM, range(RANK + 1, SIZE)),
    ):
        everywhere(sorted(made.destinations) == list(range(RANK)) and sorted(made.sources) == list(range(RANK + 1, SIZE)), made)
        received = np.full(len(made.sources), -1)
        made.allgather(np.array([RANK]), received)
        everywhere(received.tolist() == made.sources, received)
    arrived = laneway.sparse_alltoallv(COMM, [TO], np.array([RANK]))
    there, back = arrived.topology(COMM), arrived.topology(COMM, backwards=True)
    everywhere((there.sources, there.destinations) == ([SOURCE], [TO]) == (back.destinations, back.sources), (there, back))
    everywhere(bool(arrived.info), "no info")
    grid.Free()


def test_graphs_are_communicators() -> None:
    for reorder in (False, True):
        graph = laneway.dist_graph_create_adjacent(COMM, [SOURCE], [TO], [3], [3], reorder=reorder)
        everywhere(graph.Get_dist_neighbors()[2] is not None, "weights")
        received = np.zeros(1)
        graph.Neighbor_allgather(np.array([float(graph.rank)]), received)
        everywhere(received[0] == graph.Get_dist_neighbors()[0][0])
        if reorder:
            said = laneway.reordering(graph)
            everywhere(said["weight"] == 3 * SIZE and said["cut_after"] <= said["cut_before"], said)
        graph.Free()
    # Rank 0 says all edges.
    edges = (list(range(SIZE)), [1] * SIZE, [(rank + 1) % SIZE for rank in range(SIZE)]) if RANK == 0 else ([], [], [])
    graph = laneway.dist_graph_create(COMM, *edges)
    everywhere(list(graph.Get_dist_neighbors()[0]) == [SOURCE])
    graph.Free()
    with pytest.raises(ValueError, match="degrees"):
        laneway.dist_graph_create(COMM, [0], [2], [0])


def test_partitions_leave_when_they_are_ready() -> None:
    sent, received = np.arange(12.0).reshape(6, 2) + 100 * RANK, np.zeros((6, 2))
    receiving = laneway.precv_init(COMM, received, 2, SOURCE, 5)
    sending = laneway.psend_init(COMM, sent, 6, TO, 5)
    for step in range(2):
        received[:] = -1
        laneway.startall([receiving, sending])
        sending.ready(5)
        sending.ready([1, 3])
        sending.ready(range(2, 3))
        sending.ready([0, 4])
        while not (receiving.arrived(0) and receiving.arrived(1)):
            pass
        laneway.waitall([receiving, sending])
        everywhere((received == sent + 100 * (SOURCE - RANK)).all(), step)
    with pytest.raises(ValueError, match="6 rows for 4 partitions"):
        laneway.psend_init(COMM, sent, 4, TO)


@pytest.mark.parametrize("indexed", [False, True])
def test_blocks_of_neighbours_leave_in_partitions(indexed: bool) -> None:
    topology = laneway.Topology(COMM, [SOURCE, SOURCE], [TO, TO])
    sent, received = np.arange(6.0) + 10 * RANK, np.zeros(6)
    order = np.array([5, 4, 3, 2, 1, 0])
    if indexed:
        request = topology.indexed_init(sent, [4, 2], order, received, [4, 2], order, partitions=([2, 1], [2, 1]))
    else:
        request = topology.partitioned_init(sent, [4, 2], [2, 1], received, [4, 2], [2, 1])
    said: list[int] = []
    request.on_arrival(1, 0, said.append)
    for step in range(2):
        received[:] = -1
        request.start()
        for edge, part in ((1, 0), (0, 1), (0, 0)):
            request.ready_edge(edge, part)
        found = {request.wait_any_edge() for _ in range(3)}
        everywhere(found == {(0, 0), (0, 1), (1, 0)}, found)
        everywhere(request.test_any_edge() is None and request.wait_any_edge() is None and request.arrived_edge(0, 1))
        request.wait()
        everywhere((received == np.arange(6.0) + 10 * SOURCE).all() and said == [0] * (step + 1), (received, said))
    with pytest.raises(ValueError, match="sendpartitions"):
        topology.partitioned_init(sent, [4, 2], [2], received, [4, 2], [2, 1])


def test_bags_bring_every_message_once() -> None:
    with laneway.Bag(COMM) as bag:
        for turn in range(3):
            for rank in range(SIZE):
                for number in range(rank + 1):
                    bag.send(rank, np.array([RANK, number, turn]))
            bag.send(RANK, b"")
            if turn == 1:
                bag.iflush().wait()
            else:
                bag.flush()
            found = list(bag)
            texts = sorted((source, *data.view(np.int64).tolist()) for source, data in found if data.size)
            everywhere(texts == [(rank, rank, number, turn) for rank in range(SIZE) for number in range(RANK + 1)], texts)
            everywhere([source for source, data in found if not data.size] == [RANK], "an empty message")
        everywhere(int(bag.info["lnw_messages"]) == 3 * (sum(range(1, SIZE + 1)) + 1), bag.info)
    with laneway.Bag(COMM) as bag, pytest.raises(ValueError, match="not contiguous"):
        bag.send(0, np.zeros((2, 2))[:, 0])


@pytest.mark.parametrize("by_host", [False, True])
def test_a_queue_orders_exchanges_and_calls(by_host: bool) -> None:
    if not by_host and MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        pytest.skip("MPI_THREAD_MULTIPLE is not provided")
    topology = ring()
    x, received, seen = np.zeros(1), np.zeros((2, 1)), []
    requests = [topology.allgather_init(x, received[i]) for i in range(2)]
    parts = topology.partitioned_init(x, [1], [1], received[0], [1], [1])
    with laneway.Queue(by_host=by_host) as queue:
        for step in range(3):
            queue.call(lambda step=step: x.fill(10 * step + RANK))
            queue.start(*requests)
            queue.wait()
            queue.call(lambda: seen.append(received[:, 0].tolist()))
        queue.start(parts)
        queue.ready_edge(parts, 0)
        queue.wait(parts)
        if by_host:
            while not queue.progress():
                pass
        queue.synchronize()
        everywhere(queue.statistics["exchanges"] == 7 and queue.statistics["unfinished"] == 0, queue.statistics)
    everywhere(seen == [[10.0 * step + SOURCE] * 2 for step in range(3)], seen)
    everywhere(received[0] == 20 + SOURCE, received)
    with pytest.raises(ValueError, match="kind"):
        laneway.Queue("thread")  # type: ignore[arg-type]


@pytest.mark.parametrize("corners", [False, True])
def test_a_grid_has_the_ghosts_of_its_neighbours(corners: bool) -> None:
    halo = laneway.CartesianHalo(COMM, [2, 3], [1, 2], dims=[SIZE, 1], periods=[True, True], corners=corners)
    inside = (slice(1, -1), slice(2, -2))
    x = np.full(halo.shape, -1.0)
    x[inside] = np.arange(6.0).reshape(2, 3) + 10 * RANK
    halo.exchange(x)
    rows = [np.arange(6.0).reshape(2, 3) + 10 * rank for rank in range(SIZE)]
    padded = np.pad(np.concatenate(rows), ((1, 1), (2, 2)), mode="wrap")[2 * RANK : 2 * RANK + 4]
    if not corners:
        for i in (0, -1):
            padded[i, :2] = padded[i, -2:] = -1
    everywhere((x == padded).all(), x)
    everywhere((halo.dims, halo.coords) == ([SIZE, 1], [RANK, 0]), (halo.dims, halo.coords))
    everywhere(sum(len(places) for _, places in halo.received) == (padded != -1).sum() - 6, halo.received)
    everywhere(sum(len(places) for _, places in halo.sent) == sum(len(places) for _, places in halo.received))
    with pytest.raises(ValueError, match="shape"):
        halo.exchange(np.zeros(3))


def test_fields_travel_together_and_come_back() -> None:
    ghosts = [(3 * RANK + 3) % (3 * SIZE), (3 * RANK - 1) % (3 * SIZE)]
    with laneway.Fields(COMM, np.arange(3 * RANK, 3 * RANK + 3), ghosts) as halo:
        everywhere((halo.owned, halo.elements) == (3, 5))
        one, two = np.zeros(5, "i4"), np.zeros((5, 2))
        request = halo.exchange_init(one, two)
        alone = halo.exchange_init(one)
        for step in range(2):
            one[:3], two[:3] = np.arange(3) + 3 * RANK + step, np.arange(3.0)[:, None] + 3 * RANK + step
            one[3:], two[3:] = -1, -1
            with request:
                pass
            everywhere(one[3:].tolist() == [ghost + step for ghost in ghosts] and (two[3:] == one[3:, None]).all(), (one, two))
        everywhere(request.statistics["messages"] == alone.statistics["messages"], "fields of one neighbour share a message")
        halo.accumulate(parts := np.ones(5), op=MPI.SUM)
        everywhere(parts[:3].tolist() == [2, 1, 2], parts)
        with pytest.raises(ValueError, match="not contiguous"):
            halo.exchange(np.zeros((5, 2))[:, 0])
    everywhere(laneway.version()[0] >= 0)


def test_requests_of_one_halo_are_independent() -> None:
    with laneway.Halo(COMM, [RANK], [TO]) as halo:
        arrays = [np.array([10.0 * i + RANK, -1.0]) for i in range(3)]
        requests = [halo.exchange_init(x) for x in arrays]
        laneway.startall(requests)
        for i in (2, 0, 1):
            requests[i].wait()
            everywhere(arrays[i][1] == 10 * i + TO, (i, arrays[i]))
    # Requests live on.
    requests[0].start()
    requests[0].wait()


def test_a_channel_puts_into_memory_of_the_receiver() -> None:
    into = np.zeros((2, 4))
    laneway.Channel.prepare(COMM)
    with laneway.Channel(COMM, TO, "send", 32, 2) as out, laneway.Channel(COMM, SOURCE, "receive", 32, 2, buffer=into) as end:
        for segment in range(2):
            out.put(np.full(4, 10.0 * RANK + segment), segment)
        for segment in range(2):
            with end.wait(segment) as received:
                everywhere(received.data.ctypes.data == into[segment].ctypes.data and (into[segment] == 10 * SOURCE + segment).all())
    with pytest.raises(ValueError, match="segments of 32 are 64"):
        laneway.Channel(COMM, SOURCE, "receive", 32, 2, buffer=np.zeros(2))


def test_ranks_that_are_asked_answer() -> None:
    asked = [rank for rank in range(SIZE) if rank != RANK]
    found = laneway.sparse_query(
        COMM, asked, np.arange(len(asked)) + 10 * RANK, lambda source, rows: [source, RANK, rows[0]], dtype=np.int64
    )
    everywhere([each.tolist() for each in found] == [[RANK, rank, i + 10 * RANK] for i, rank in enumerate(asked)], found)
    everywhere([len(each) for each in laneway.sparse_query(COMM, [TO], np.zeros(1), lambda *_: None)] == [0])

    def fails(source: int, rows: Any) -> None:
        raise KeyError("no answer")

    with pytest.raises((KeyError, laneway.Error)):
        laneway.sparse_query(COMM, [0], np.zeros(1), fails)
    COMM.Barrier()


def test_sparse_exchanges_run_under_way_and_together() -> None:
    requests = [laneway.isparse_alltoallv(COMM, [TO], np.array([[RANK, i]])) for i in range(3)]
    everywhere(True)
    laneway.waitall(requests)
    for i, request in enumerate(requests):
        assert request.arrivals is not None
        everywhere([(source, rows.tolist()) for source, rows in request.arrivals] == [(SOURCE, [[SOURCE, i]])], i)
    first, second = laneway.sparse_alltoallv_sets(COMM, [([TO, SOURCE], np.arange(4) + RANK, [1, 3]), ([], np.zeros((0, 2)))])
    sent = [(SOURCE, np.array([SOURCE])), (TO, np.arange(1, 4) + TO)]
    expected = sorted((source, rows.tolist()) for source, rows in sent)
    everywhere(sorted((source, rows.tolist()) for source, rows in first) == expected and len(second) == 0, list(first))


def test_inputs_of_mpi4py_are_taken() -> None:
    topology, received = ring(), np.zeros(3)
    sent = np.arange(4.0) + RANK
    topology.allgather([sent, 3, MPI.DOUBLE], [received, MPI.DOUBLE])
    everywhere((received == np.arange(3.0) + SOURCE).all(), received)
    laneway.allreduce(COMM, [sent, 2, "d"], total := np.zeros(2))
    everywhere((total == [sum(range(SIZE)), SIZE + sum(range(SIZE))]).all(), total)
    numbers, back = array.array("i", [RANK, 7]), array.array("i", [0, 0])
    topology.allgather(numbers, back)
    everywhere(back.tolist() == [SOURCE, 7], back)
    text = bytearray(2)
    topology.allgather(b"ab", text)
    everywhere(text == b"ab", text)
    topology.allgather(np.array(2.5 + RANK), scalar := np.zeros(()))
    everywhere(scalar == 2.5 + SOURCE, scalar)
    for wrong, said in (([sent, 5, MPI.DOUBLE], "the array has 32"), ([sent[::2], MPI.DOUBLE], "contiguous")):
        with pytest.raises(ValueError, match=said):
            topology.allgather(wrong, received)
    for unknown in ([sent, 1, 2, 3], object(), b"ab"):
        with pytest.raises(TypeError):
            topology.allgather(sent, unknown)


def test_messages_of_mpi4py_are_the_oracle() -> None:
    """The same rows by a partitioned neighbourhood and by loops of Isend and Irecv."""
    sent = np.random.default_rng(RANK).integers(0, 255, (5, 3), dtype=np.uint8)
    received, expected = np.zeros_like(sent), np.zeros_like(sent)
    loop([(TO, sent)], [(SOURCE, expected)])
    with ring().partitioned_init(sent, [5], [2], received, [5], [3]) as request:
        for part in range(2):
            request.ready_edge(0, part)
    everywhere(received.tobytes() == expected.tobytes())


def test_counts_of_an_exchange_are_read_when_it_starts() -> None:
    """Against alltoall of the counts and alltoallv of mpi4py."""
    room = 4
    for sdispls, rdispls in ((None, None), (room * np.arange(SIZE)[::-1], 1 + room * np.arange(SIZE)[::-1])):
        sent, received = np.zeros((room * SIZE, 2)), np.zeros((1 + room * SIZE, 2))
        counts, come, expected = np.zeros(SIZE, np.intc), np.zeros(SIZE, np.intc), np.zeros(SIZE, np.intc)
        request = laneway.alltoallv_counted_init(COMM, sent, counts, received, come, [room] * SIZE, sdispls, rdispls)
        for step in range(3):
            counts[:] = (RANK + 2 * np.arange(SIZE) + step) % (room + 1)
            sent[:], received[:], right = np.random.default_rng([RANK, step]).random(sent.shape), -1, np.full_like(received, -1)
            COMM.Alltoall(counts, expected)
            begins = np.cumsum(counts) - counts if sdispls is None else sdispls
            rooms = room * np.arange(SIZE) if rdispls is None else rdispls
            COMM.Alltoallv([sent, 2 * counts, 2 * begins, MPI.DOUBLE], [right, 2 * expected, 2 * rooms, MPI.DOUBLE])
            with request:
                pass
            everywhere((come == expected).all() and received.tobytes() == right.tobytes(), f"step {step}")
        counts[:] = room + 1
        with pytest.raises(laneway.Error), request:
            pass
        request.free()
    for wrong in (np.zeros(SIZE), np.zeros(SIZE + 1, np.intc)):
        with pytest.raises(ValueError, match="sendcounts has"):
            laneway.alltoallv_counted_init(COMM, sent, wrong, received, come, [room] * SIZE)
    with pytest.raises(ValueError, match="reach row"):
        laneway.alltoallv_counted_init(COMM, sent, counts, received, come, [room + 2] * SIZE)


def test_words_make_partitions_ready() -> None:
    sent, received = np.zeros(6), np.zeros(6)
    requests = [laneway.psend_init(COMM, sent, 3, TO, 9), laneway.precv_init(COMM, received, 2, SOURCE, 9)]
    edges = ring().partitioned_init(sent, [6], [2], received, [6], [1])
    for used, words in (
        (requests, [requests[0].ready_word(part) for part in range(3)]),
        ([edges], [edges.ready_edge_word(0, part) for part in range(2)]),
    ):
        for step in range(3):
            sent[:], received[:] = 10 * RANK + step + np.arange(6.0), -1
            for word in words[:step]:  # before the start, and after
                word[0] = 1
            laneway.startall(used)
            for word in words[step:]:
                word[0] = 1
            laneway.waitall(used)
            everywhere((received == 10 * SOURCE + step + np.arange(6.0)).all() and not any(word[0] for word in words), step)
    with pytest.raises(laneway.Error):
        edges.ready_edge_word(1)
