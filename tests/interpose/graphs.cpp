// More live graph communicators than half of those that MPI libraries have room for (MPICH: 2,048 in all), with
// threads: nothing is taken over, so each must cost one, as it does without the library. Some have a rank without
// neighbours.
#include <algorithm>
#include <cstdlib>

#include "check.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int count = argc > 1 ? std::atoi(argv[1]) : 1500;
  const int rank = rank_in(MPI_COMM_WORLD);
  const Graph whole = ring_graph(size_of(MPI_COMM_WORLD));
  const Graph partial = ring_graph(size_of(MPI_COMM_WORLD) - 1);
  std::vector<MPI_Comm> comms;
  const auto exchange = [&](const Graph& graph, MPI_Comm comm) {
    std::vector<int> received(graph.edges.size() + 1, -1);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, comm);
    const std::vector<int> in = graph.in(rank);
    for (std::size_t i = 0; i < in.size(); ++i)
      CHECK(received[i] == graph.edges[static_cast<std::size_t>(in[i])].source);
  };
  for (int i = 0; i < count; ++i) {
    const Graph& graph = i % 2 == 0 ? whole : partial;
    comms.push_back(graph.create_adjacent(MPI_COMM_WORLD));
    if (i % 50 < 2) exchange(graph, comms.back());
  }
#if defined(LANEWAY_HAS_PERSISTENT) || defined(LANEWAY_HAS_EXTENSION_PERSISTENT)
  // What is taken over on some of them.
  for (int i = 0; i < 100; ++i) {
    const Graph& graph = i % 2 == 0 ? whole : partial;
    std::vector<int> received(graph.edges.size() + 1, -1);
    MPI_Request request = MPI_REQUEST_NULL;
#ifdef LANEWAY_HAS_PERSISTENT
    MPI_Neighbor_allgather_init(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, comms[static_cast<std::size_t>(i)],
                                MPI_INFO_NULL, &request);
#else
    MPIX_Neighbor_allgather_init(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, comms[static_cast<std::size_t>(i)],
                                 MPI_INFO_NULL, &request);
#endif
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const std::vector<int> in = graph.in(rank);
    for (std::size_t e = 0; e < in.size(); ++e)
      CHECK(received[e] == graph.edges[static_cast<std::size_t>(in[e])].source);
    MPI_Request_free(&request);
  }
#endif
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
