// A program with a profiling tool of its own, which sees the program's calls and nothing of what is behind them.
#include "check.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace {
int waits = 0;
int starts = 0;
int gathers = 0;
int sends = 0;
}  // namespace

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++waits;
  return PMPI_Wait(request, status);
}
extern "C" int MPI_Start(MPI_Request* request) {
  ++starts;
  return PMPI_Start(request);
}
extern "C" int MPI_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  ++gathers;
  return PMPI_Neighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}
extern "C" int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  ++sends;
  return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}
extern "C" int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  ++sends;
  return PMPI_Send_init(buffer, count, type, destination, tag, comm, request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  const Graph graph = ring_graph(size);
  const MPI_Comm ring = graph.create_adjacent(MPI_COMM_WORLD);
  std::vector<int> received(graph.edges.size() + 1, -1);
  const auto right = [&] {
    const std::vector<int> in = graph.in(rank);
    for (std::size_t i = 0; i < in.size(); ++i)
      CHECK(received[i] == graph.edges[static_cast<std::size_t>(in[i])].source);
    std::fill(received.begin(), received.end(), -1);
  };
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, ring);
  right();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ineighbor_allgather(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  right();
  int expected_waits = 1, expected_starts = 0;
#if defined(LANEWAY_HAS_PERSISTENT) || defined(LANEWAY_HAS_EXTENSION_PERSISTENT)
#ifdef LANEWAY_HAS_PERSISTENT
  MPI_Neighbor_allgather_init(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, ring, MPI_INFO_NULL, &request);
#else
  MPIX_Neighbor_allgather_init(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, ring, MPI_INFO_NULL, &request);
#endif
  for (; expected_starts < 3; ++expected_starts, ++expected_waits) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    right();
  }
  MPI_Request_free(&request);
#endif
  CHECK(waits == expected_waits);
  CHECK(starts == expected_starts);
  CHECK(gathers == 1);
  CHECK(sends == 0);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
