// What the MPI standard says about requests, communicators and errors, and programs rely on. With the argument `taken`
// the operations are known to be taken over, and what MPI libraries forgive is an error; with `at_once` no persistent
// operation is used (MPICH 4.0 waits for ever for its own inactive ones).
#include <cstring>
#include <random>

#include "check.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#ifdef LANEWAY_HAS_PERSISTENT
#define ALLTOALL_INIT MPI_Neighbor_alltoall_init
#elif defined(LANEWAY_HAS_EXTENSION_PERSISTENT)
#define ALLTOALL_INIT MPIX_Neighbor_alltoall_init
#endif

namespace {

bool taken = false;
bool has_persistent = true;

/// Everybody sends everybody one number.
struct AllToAll {
  explicit AllToAll(int size) : send(static_cast<std::size_t>(size)), receive(send.size()) {
    for (int s = 0; s < size; ++s)
      for (int d = 0; d < size; ++d) graph.edges.push_back({s, d});
    comm = graph.create_adjacent(MPI_COMM_WORLD);
  }
  void fill(int number) {
    for (std::size_t i = 0; i < send.size(); ++i)
      send[i] = 100 * number + 10 * rank_in(MPI_COMM_WORLD) + static_cast<int>(i);
    std::fill(receive.begin(), receive.end(), -1);
    round = number;
  }
  void check() const {
    for (std::size_t i = 0; i < receive.size(); ++i)
      CHECK(receive[i] == 100 * round + 10 * static_cast<int>(i) + rank_in(MPI_COMM_WORLD));
  }
  MPI_Request start() {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_Ineighbor_alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm, &request) == MPI_SUCCESS);
    return request;
  }
#ifdef ALLTOALL_INIT
  MPI_Request init() {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(ALLTOALL_INIT(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm, MPI_INFO_NULL, &request) ==
          MPI_SUCCESS);
    return request;
  }
#endif

  Graph graph;
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> send, receive;
  int round = 0;
};

int class_of(int code) {
  int found = MPI_SUCCESS;
  MPI_Error_class(code, &found);
  return found;
}

void test_nothing() {
  int index = 0, flag = 0, count = 0;
  MPI_Request null[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  CHECK(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Startall(0, null) == MPI_SUCCESS);
  CHECK(MPI_Waitany(0, null, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index == MPI_UNDEFINED);
  CHECK(MPI_Testall(0, null, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS && flag);
  CHECK(MPI_Waitall(2, null, statuses) == MPI_SUCCESS);
  CHECK(MPI_Wait(null, statuses) == MPI_SUCCESS && statuses[0].MPI_TAG == MPI_ANY_TAG);
  CHECK(MPI_Waitsome(2, null, &count, &index, statuses) == MPI_SUCCESS && count == MPI_UNDEFINED);
  CHECK(MPI_Testany(2, null, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag && index == MPI_UNDEFINED);
}

/// `request` is a persistent one that is not active.
void test_inactive(MPI_Request request) {
  MPI_Request before = request;
  MPI_Status status;
  int flag = 0, index = 0, count = 0, elements = -1;
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == before);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  CHECK(MPI_Get_count(&status, MPI_INT, &elements) == MPI_SUCCESS && elements == 0);
  CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag && request == before);
  CHECK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag);
  MPI_Request list[3] = {request, MPI_REQUEST_NULL, request};
  int indices[3];
  CHECK(MPI_Waitall(3, list, MPI_STATUSES_IGNORE) == MPI_SUCCESS && list[0] == before && list[2] == before);
  CHECK(MPI_Waitany(3, list, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index == MPI_UNDEFINED);
  CHECK(MPI_Testsome(3, list, &count, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS && count == MPI_UNDEFINED);
}

/// Rank 0 begins an exchange, and the others only after `look` has looked at the request there: it cannot complete
/// before. The handle stays valid, and the operation completes.
template <class Begin, class Look>
MPI_Request while_active(AllToAll& exchange, const Begin& begin, const Look& look) {
  MPI_Request gate = MPI_REQUEST_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  const bool first = rank_in(MPI_COMM_WORLD) == 0 && size_of(MPI_COMM_WORLD) > 1;
  if (first) {
    request = begin();
    const MPI_Request before = request;
    look(request);
    CHECK(request == before);
  }
  MPI_Ibarrier(MPI_COMM_WORLD, &gate);
  MPI_Wait(&gate, MPI_STATUS_IGNORE);
  if (!first) request = begin();
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  exchange.check();
  return request;
}

void test_get_status(AllToAll& exchange) {
  exchange.fill(11);
  int flag = 1;
  MPI_Request request = while_active(
      exchange, [&] { return exchange.start(); },
      [&](MPI_Request& active) {
        CHECK(MPI_Request_get_status(active, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
        CHECK(MPI_Test(&active, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
        MPI_Request list[2] = {MPI_REQUEST_NULL, active};
        int index = 0, count = -1;
        CHECK(MPI_Testall(2, list, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS && !flag);
        CHECK(MPI_Testany(2, list, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
        CHECK(MPI_Testsome(2, list, &count, &index, MPI_STATUSES_IGNORE) == MPI_SUCCESS && count == 0);
      });
  CHECK(request == MPI_REQUEST_NULL);
  // A request that is complete stays until it is waited for.
  exchange.fill(12);
  request = exchange.start();
  for (flag = 0; !flag;) CHECK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  exchange.check();
  CHECK(request != MPI_REQUEST_NULL && MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        flag);
  MPI_Status status;
  int elements = -1, cancelled = 1;
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
  CHECK(MPI_Test_cancelled(&status, &cancelled) == MPI_SUCCESS && !cancelled);
  CHECK(MPI_Get_elements(&status, MPI_BYTE, &elements) == MPI_SUCCESS);
}

/// Nothing is called but one of these until the exchange is complete; the request stays.
void test_get_status_of_several(AllToAll& exchange) {
#ifdef LANEWAY_HAS_STATUS_OF_SEVERAL
  for (int form = 0; form < 3; ++form) {
    exchange.fill(21 + form);
    MPI_Request list[2] = {MPI_REQUEST_NULL, exchange.start()};
    const MPI_Request before = list[1];
    int flag = 0, index = -1, count = 0;
    while (!flag) {
      if (form == 0) CHECK(MPI_Request_get_status_all(2, list, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
      if (form == 1) CHECK(MPI_Request_get_status_any(2, list, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      if (form == 2) {
        CHECK(MPI_Request_get_status_some(2, list, &count, &index, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        flag = count == 1;
      }
    }
    CHECK(form == 0 || index == 1);
    CHECK(list[1] == before);
    exchange.check();
    CHECK(MPI_Wait(&list[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
#else
  (void)exchange;
#endif
}

/// What MPI forbids, and MPI libraries forgive, or not.
void test_misuse(AllToAll& exchange) {
  if (!taken) return;
  MPI_Comm_set_errhandler(exchange.comm, MPI_ERRORS_RETURN);
  exchange.fill(1);
  while_active(
      exchange, [&] { return exchange.start(); },
      [](MPI_Request& active) {
        CHECK(class_of(MPI_Request_free(&active)) != MPI_SUCCESS);
        CHECK(class_of(MPI_Cancel(&active)) != MPI_SUCCESS);
        CHECK(class_of(MPI_Start(&active)) != MPI_SUCCESS);
        CHECK(class_of(MPI_Startall(1, &active)) != MPI_SUCCESS);
      });
#ifdef ALLTOALL_INIT
  exchange.fill(10);
  MPI_Request persistent = exchange.init();
  while_active(
      exchange,
      [&] {
        MPI_Start(&persistent);
        return persistent;
      },
      [](MPI_Request& active) {
        CHECK(class_of(MPI_Request_free(&active)) != MPI_SUCCESS);
        CHECK(class_of(MPI_Cancel(&active)) != MPI_SUCCESS);
        CHECK(class_of(MPI_Start(&active)) != MPI_SUCCESS);
        CHECK(class_of(MPI_Startall(1, &active)) != MPI_SUCCESS);
      });
  CHECK(class_of(MPI_Cancel(&persistent)) != MPI_SUCCESS);
  CHECK(MPI_Request_free(&persistent) == MPI_SUCCESS && persistent == MPI_REQUEST_NULL);
#endif
  MPI_Comm_set_errhandler(exchange.comm, MPI_ERRORS_ARE_FATAL);
}

/// Nonblocking calls of one kind with many buffers, several at a time, completed in another order, between buffers that
/// come back, also at the same addresses after they have been freed.
void test_buffers(const AllToAll& exchange) {
  const int rank = rank_in(exchange.comm);
  const std::size_t size = exchange.send.size();
  std::vector<int> counts(size, 3), places(size);
  for (std::size_t i = 0; i < size; ++i) places[i] = 3 * static_cast<int>(i);
  for (int round = 0; round < 6; ++round) {
    constexpr int active = 11;
    std::vector<std::vector<int>> send, receive(active, std::vector<int>(3 * size, -1));
    std::vector<MPI_Request> requests(active);
    for (int k = 0; k < active; ++k) {
      std::vector<int>& mine = send.emplace_back(3 * size);
      for (std::size_t i = 0; i < mine.size(); ++i)
        mine[i] = 1000 * round + 100 * k + 10 * rank + static_cast<int>(i / 3);
    }
    for (std::size_t k = 0; k < requests.size(); ++k)
      CHECK(MPI_Ineighbor_alltoallv(send[k].data(), counts.data(), places.data(), MPI_INT, receive[k].data(),
                                    counts.data(), places.data(), MPI_INT, exchange.comm, &requests[k]) == MPI_SUCCESS);
    for (std::size_t k = requests.size(); k-- > requests.size() / 2;)
      CHECK(MPI_Wait(&requests[k], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Waitall(active, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int k = 0; k < active; ++k)
      for (std::size_t i = 0; i < 3 * size; ++i)
        CHECK(receive[static_cast<std::size_t>(k)][i] == 1000 * round + 100 * k + 10 * static_cast<int>(i / 3) + rank);
    std::vector<int> last(3 * size, -1);
    CHECK(MPI_Neighbor_alltoallv(send[0].data(), counts.data(), places.data(), MPI_INT, last.data(), counts.data(),
                                 places.data(), MPI_INT, exchange.comm) == MPI_SUCCESS);
    CHECK(last == receive[0]);
  }
}

int handled = 0;
MPI_Comm handled_comm = MPI_COMM_NULL;

void count_error(MPI_Comm* comm, int*, ...) {
  ++handled;
  handled_comm = *comm;
}

void test_errors(AllToAll& exchange) {
  MPI_Comm_set_errhandler(exchange.comm, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Neighbor_alltoall(exchange.send.data(), -1, MPI_INT, exchange.receive.data(), 1, MPI_INT,
                                       exchange.comm)) == MPI_ERR_COUNT ||
        taken);
  CHECK(MPI_Neighbor_alltoall(exchange.send.data(), 1, MPI_DATATYPE_NULL, exchange.receive.data(), 1, MPI_INT,
                              exchange.comm) != MPI_SUCCESS);
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_error, &counting);
  MPI_Comm_set_errhandler(exchange.comm, counting);
  handled = 0;
  CHECK(MPI_Neighbor_alltoall(exchange.send.data(), -1, MPI_INT, exchange.receive.data(), 1, MPI_INT, exchange.comm) !=
        MPI_SUCCESS);
  CHECK(handled == 1 && handled_comm == exchange.comm);
  MPI_Errhandler kept = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(exchange.comm, &kept);
  CHECK(kept == counting);
  MPI_Errhandler_free(&kept);
  MPI_Errhandler_free(&counting);
  // As if nothing had happened.
  exchange.fill(2);
  CHECK(MPI_Neighbor_alltoall(exchange.send.data(), 1, MPI_INT, exchange.receive.data(), 1, MPI_INT, exchange.comm) ==
        MPI_SUCCESS);
  exchange.check();
  MPI_Comm_set_errhandler(exchange.comm, MPI_ERRORS_ARE_FATAL);
}

int copies = 0;
int deletions = 0;

void test_attributes() {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(
      [](MPI_Comm, int, void*, void* value, void* copy, int* flag) {
        ++copies;
        std::memcpy(copy, &value, sizeof value);
        *flag = 1;
        return int{MPI_SUCCESS};
      },
      [](MPI_Comm, int, void*, void*) {
        ++deletions;
        return int{MPI_SUCCESS};
      },
      &key, nullptr);
  static int value = 42;
  MPI_Comm base = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &base);
  MPI_Comm_set_attr(base, key, &value);
  Graph ring = ring_graph(size_of(base));
  MPI_Comm graph = ring.create_adjacent(base);
  void* found = nullptr;
  int flag = 1;
  MPI_Comm_get_attr(graph, key, &found, &flag);
  CHECK(copies == flag);  // Open MPI 5 gives a graph its parent's attributes, which the standard does not
  if (flag) MPI_Comm_delete_attr(graph, key);
  copies = deletions = 0;
  MPI_Comm_set_attr(graph, key, &value);
  int kept = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &kept, nullptr);
  MPI_Comm_set_attr(graph, kept, &value);
  const int rank = rank_in(graph);
  std::vector<int> received(ring.edges.size() + 1);
  CHECK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, graph) == MPI_SUCCESS);
  CHECK(copies == 0);

  MPI_Comm copy = MPI_COMM_NULL;
  CHECK(MPI_Comm_dup(graph, &copy) == MPI_SUCCESS);
  CHECK(copies == 1);
  MPI_Comm_get_attr(copy, key, &found, &flag);
  CHECK(flag && found == &value);
  MPI_Comm_get_attr(copy, kept, &found, &flag);
  CHECK(!flag);
  MPI_Comm_free_keyval(&kept);
  int kind = MPI_UNDEFINED, in = 0, out = 0, weighted = 1;
  MPI_Topo_test(copy, &kind);
  CHECK(kind == MPI_DIST_GRAPH);
  MPI_Dist_graph_neighbors_count(copy, &in, &out, &weighted);
  CHECK(in == static_cast<int>(ring.in(rank).size()) && out == static_cast<int>(ring.out(rank).size()) && !weighted);
  std::vector<int> sources(static_cast<std::size_t>(in) + 1), destinations(static_cast<std::size_t>(out) + 1);
  MPI_Dist_graph_neighbors(copy, in, sources.data(), MPI_UNWEIGHTED, out, destinations.data(), MPI_UNWEIGHTED);
  for (int i = 0; i < in; ++i)
    CHECK(sources[static_cast<std::size_t>(i)] ==
          ring.edges[static_cast<std::size_t>(ring.in(rank)[static_cast<std::size_t>(i)])].source);
  std::fill(received.begin(), received.end(), -1);
  MPI_Comm_free(&graph);
  CHECK(deletions == 1);
  CHECK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, copy) == MPI_SUCCESS);
  for (int i = 0; i < in; ++i) CHECK(received[static_cast<std::size_t>(i)] == sources[static_cast<std::size_t>(i)]);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(copy, rank % 2, 0, &part);
  MPI_Topo_test(part, &kind);
  CHECK(kind == MPI_UNDEFINED);
  MPI_Comm_get_attr(part, key, &found, &flag);
  CHECK(!flag);
  MPI_Comm_free(&part);
  // Copies of copies, and while an operation is active.
  std::fill(received.begin(), received.end(), -1);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Comm with_info = MPI_COMM_NULL, later = MPI_COMM_NULL;
  CHECK(MPI_Ineighbor_allgather(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, copy, &requests[0]) == MPI_SUCCESS);
  CHECK(MPI_Comm_dup_with_info(copy, MPI_INFO_NULL, &with_info) == MPI_SUCCESS && copies == 2);
  CHECK(MPI_Comm_idup(copy, &later, &requests[1]) == MPI_SUCCESS);
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS && copies == 3);
  for (int i = 0; i < in; ++i) CHECK(received[static_cast<std::size_t>(i)] == sources[static_cast<std::size_t>(i)]);
  for (MPI_Comm* each : {&with_info, &later}) {
    MPI_Comm_get_attr(*each, key, &found, &flag);
    CHECK(flag && found == &value);
    MPI_Topo_test(*each, &kind);
    CHECK(kind == MPI_DIST_GRAPH);
    MPI_Comm_free(each);
  }
  CHECK(deletions == 3);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&base);
  CHECK(deletions == 5 && copies == 3);
  MPI_Comm_free_keyval(&key);
}

/// Weights, names of neighbours and the general constructor are the MPI library's.
void test_graph_create() {
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  // Each rank gives the edges of the next one.
  const int source = (rank + 1) % size;
  const int degree = 1, destination = (rank + 2) % size, weight = 7 + source;
  MPI_Comm graph = MPI_COMM_NULL;
  CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, &destination, &weight, MPI_INFO_NULL, 0, &graph) ==
        MPI_SUCCESS);
  int in = 0, out = 0, weighted = 0;
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && weighted);
  int from = -1, from_weight = 0, to = -1, to_weight = 0;
  MPI_Dist_graph_neighbors(graph, 1, &from, &from_weight, 1, &to, &to_weight);
  CHECK(to == (rank + 1) % size && to_weight == 7 + rank && from == (rank + size - 1) % size &&
        from_weight == 7 + from);
  int received = -1;
  CHECK(MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &received, 1, MPI_INT, graph) == MPI_SUCCESS && received == from);
  MPI_Comm_free(&graph);
}

/// Each rank names edges of another one; what moves is compared with plain messages along what the MPI library has made
/// of them.
void test_general_graphs() {
  const int size = size_of(MPI_COMM_WORLD), rank = rank_in(MPI_COMM_WORLD);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    // Each rank names the edges of the next one, in two parts.
    std::mt19937 random(100 * seed + static_cast<unsigned>(rank));
    const int sources[2] = {(rank + 1) % size, (rank + 1) % size};
    int degrees[2] = {0, 0};
    std::vector<int> destinations;
    for (int part = 0; part < 2; ++part)
      for (int to = part; to < size; to += 2)
        if (random() % 3 > 0) {
          destinations.push_back(to);
          ++degrees[part];
        }
    destinations.reserve(1);
    MPI_Comm graph = MPI_COMM_NULL;
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 2, sources, degrees, destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                                0, &graph) == MPI_SUCCESS);
    int in = 0, out = 0, weighted = 0;
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(!weighted);
    std::vector<int> froms(static_cast<std::size_t>(in) + 1), tos(static_cast<std::size_t>(out) + 1);
    MPI_Dist_graph_neighbors(graph, in, froms.data(), MPI_UNWEIGHTED, out, tos.data(), MPI_UNWEIGHTED);
    std::vector<int> send(2 * tos.size()), send_counts(tos.size()), send_places(tos.size());
    std::vector<int> expected(2 * froms.size(), -1), receive_counts(froms.size()), receive_places(froms.size());
    std::vector<MPI_Request> requests(tos.size(), MPI_REQUEST_NULL);
    for (std::size_t i = 0; i + 1 < tos.size(); ++i) {
      send_counts[i] = 1 + static_cast<int>(i) % 2;
      send_places[i] = 2 * static_cast<int>(i);
      for (std::size_t k = 0; k < 2; ++k)
        send[2 * i + k] = 10000 * rank + 10 * static_cast<int>(i) + static_cast<int>(k);
      MPI_Isend(&send[2 * i], send_counts[i], MPI_INT, tos[i], 0, graph, &requests[i]);
    }
    // Plain messages say what is to arrive, and how much.
    for (std::size_t i = 0; i + 1 < froms.size(); ++i) {
      MPI_Status status;
      receive_places[i] = 2 * static_cast<int>(i);
      MPI_Recv(&expected[2 * i], 2, MPI_INT, froms[i], 0, graph, &status);
      MPI_Get_count(&status, MPI_INT, &receive_counts[i]);
    }
    MPI_Waitall(out, requests.data(), MPI_STATUSES_IGNORE);
    std::vector<int> received(expected.size(), -1);
    CHECK(MPI_Neighbor_alltoallv(send.data(), send_counts.data(), send_places.data(), MPI_INT, received.data(),
                                 receive_counts.data(), receive_places.data(), MPI_INT, graph) == MPI_SUCCESS);
    CHECK(received == expected);
    MPI_Comm_free(&graph);
  }
}

void test_free_with_pending(AllToAll exchange) {
  exchange.comm = exchange.graph.create_adjacent(MPI_COMM_WORLD);
  exchange.fill(3);
  MPI_Request request = exchange.start();
  MPI_Comm_free(&exchange.comm);
  CHECK(exchange.comm == MPI_COMM_NULL);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  exchange.check();
  if (taken) {
    exchange.comm = exchange.graph.create_adjacent(MPI_COMM_WORLD);
    exchange.fill(9);
    request = exchange.start();
    CHECK(MPI_Comm_disconnect(&exchange.comm) == MPI_SUCCESS && exchange.comm == MPI_COMM_NULL);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    exchange.check();
  }
#ifdef ALLTOALL_INIT
  if (!has_persistent) return;
  exchange.comm = exchange.graph.create_adjacent(MPI_COMM_WORLD);
  request = exchange.init();
  exchange.fill(4);
  MPI_Start(&request);
  MPI_Comm_free(&exchange.comm);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  exchange.check();
  CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
#endif
}

#ifdef ALLTOALL_INIT
/// In a dimension of two ranks, both neighbours are the same rank.
void test_cartesian() {
  const int size = size_of(MPI_COMM_WORLD);
  const int periodic = 1;
  MPI_Comm line = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line);
  const int rank = rank_in(line);
  const int send[2] = {10 * rank, 10 * rank + 1};
  int receive[2] = {-1, -1}, blocking[2] = {-1, -1};
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(ALLTOALL_INIT(send, 1, MPI_INT, receive, 1, MPI_INT, line, MPI_INFO_NULL, &request) == MPI_SUCCESS);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  CHECK(receive[0] == 10 * left + 1 && receive[1] == 10 * right);
  MPI_Neighbor_alltoall(send, 1, MPI_INT, blocking, 1, MPI_INT, line);
  CHECK(blocking[0] == receive[0] && blocking[1] == receive[1]);
  MPI_Comm_free(&line);
}

/// `idle` is not started.
void test_beside_inactive(AllToAll& exchange, MPI_Request request, MPI_Request idle) {
  MPI_Request list[4] = {idle, MPI_REQUEST_NULL, request, idle};
  MPI_Status statuses[4];
  exchange.fill(13);
  MPI_Start(&list[2]);
  CHECK(MPI_Waitall(4, list, statuses) == MPI_SUCCESS && list[2] == request && list[0] == idle && list[3] == idle);
  CHECK(statuses[0].MPI_SOURCE == MPI_ANY_SOURCE && statuses[1].MPI_TAG == MPI_ANY_TAG);
  exchange.check();
  int index = -1, count = 0, indices[4];
  exchange.fill(14);
  MPI_Start(&list[2]);
  CHECK(MPI_Waitany(4, list, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index == 2);
  exchange.check();
  exchange.fill(15);
  MPI_Startall(1, &list[2]);
  CHECK(MPI_Waitsome(4, list, &count, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS && count == 1 && indices[0] == 2);
  exchange.check();
}

/// Leaves the request.
void test_persistent(AllToAll& exchange) {
  MPI_Request request = exchange.init();
  test_inactive(request);
  for (int round = 5; round < 8; ++round) {
    exchange.fill(round);
    MPI_Start(&request);
    MPI_Status status;
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    int cancelled = 1;
    CHECK(MPI_Test_cancelled(&status, &cancelled) == MPI_SUCCESS && !cancelled);
    exchange.check();
    test_inactive(request);
  }
  MPI_Request idle = exchange.init();
  test_beside_inactive(exchange, request, idle);
  MPI_Request_free(&idle);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  taken = argc > 1 && std::strcmp(argv[1], "taken") == 0;
  has_persistent = argc < 2 || std::strcmp(argv[1], "at_once") != 0;
  AllToAll exchange(size_of(MPI_COMM_WORLD));
  test_nothing();
  test_graph_create();
  test_general_graphs();
  test_attributes();
  test_errors(exchange);
  test_get_status(exchange);
  test_get_status_of_several(exchange);
  test_misuse(exchange);
  test_buffers(exchange);
  test_free_with_pending(exchange);
#ifdef ALLTOALL_INIT
  if (has_persistent) {
    test_cartesian();
    test_persistent(exchange);
  }
#endif
  test_nothing();
  const int status = verdict();
  MPI_Finalize();  // with a persistent request and its communicator alive
  return status;
}
