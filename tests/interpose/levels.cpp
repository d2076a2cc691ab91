// MPI processes may ask for different levels of thread support: the first or the last one has MPI_THREAD_MULTIPLE, the
// others have not.
#include <cstdlib>
#include <cstring>

#include "check.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace {

/// As the launcher says, before MPI does.
int number_in(const char* variable, const char* other) {
  const char* text = std::getenv(variable);
  if (text == nullptr) text = std::getenv(other);
  return text == nullptr ? 0 : std::atoi(text);
}

void exchange(const Graph& graph, MPI_Comm comm) {
  const int rank = rank_in(comm);
  const std::vector<int> in = graph.in(rank);
  const std::size_t degree = in.size();
  std::vector<int> send(degree + 1, rank), received(degree + 1, -1), counts(degree + 1, 1), places(degree + 1);
  for (std::size_t i = 0; i < degree; ++i) places[i] = static_cast<int>(i);
  const auto check = [&] {
    for (std::size_t i = 0; i < degree; ++i) CHECK(received[i] == graph.edges[static_cast<std::size_t>(in[i])].source);
    std::fill(received.begin(), received.end(), -1);
  };
  for (int round = 0; round < 3; ++round) {
    MPI_Neighbor_alltoall(send.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm);
    check();
    MPI_Neighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_INT, received.data(), counts.data(),
                           places.data(), MPI_INT, comm);
    check();
    MPI_Request requests[2];
    std::vector<int> gathered(degree + 1, -1);
    MPI_Ineighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_INT, received.data(), counts.data(),
                            places.data(), MPI_INT, comm, &requests[0]);
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, gathered.data(), 1, MPI_INT, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check();
    received = gathered;
    check();
#if defined(LANEWAY_HAS_PERSISTENT) || defined(LANEWAY_HAS_EXTENSION_PERSISTENT)
    MPI_Request persistent = MPI_REQUEST_NULL;
#ifdef LANEWAY_HAS_PERSISTENT
    MPI_Neighbor_allgather_init(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, comm, MPI_INFO_NULL, &persistent);
#else
    MPIX_Neighbor_allgather_init(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, comm, MPI_INFO_NULL, &persistent);
#endif
    for (int start = 0; start < 3; ++start) {
      MPI_Start(&persistent);
      MPI_Wait(&persistent, MPI_STATUS_IGNORE);
      check();
    }
    MPI_Request_free(&persistent);
#endif
  }
  int sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == size_of(comm) * (size_of(comm) - 1) / 2);
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = number_in("OMPI_COMM_WORLD_RANK", "PMI_RANK");
  const int size = number_in("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
  const bool last = argc > 1 && std::strcmp(argv[1], "last") == 0;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, rank == (last ? size - 1 : 0) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  const Graph whole = ring_graph(size);
  const Graph partial = ring_graph(size - 1);
  for (const Graph& graph : {whole, partial, whole}) {
    MPI_Comm comm = graph.create_adjacent(MPI_COMM_WORLD);
    exchange(graph, comm);
    MPI_Comm next = graph.create_adjacent(comm);
    exchange(graph, next);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&next);
  }
  const int status = verdict();
  MPI_Finalize();
  return status;
}
