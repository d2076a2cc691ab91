// Two exchanges that have nothing to do with each other on one communicator, 0 <-> 2 and 1 <-> 3, and what they send
// differs in size. MPI compares sizes only between ranks that communicate.
#include <algorithm>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  Graph graph;
  for (const int first : {0, 1}) {
    graph.edges.push_back({first, first + 2});
    graph.edges.push_back({first + 2, first});
  }
  MPI_Comm comm = graph.create_adjacent(MPI_COMM_WORLD);
  const int peer = (rank + 2) % 4;
  // The same in all calls, then the same everywhere, then other sizes, in the classes of others.
  constexpr int sizes[][2] = {{2, 1024}, {2, 1024}, {4, 4}, {100, 40000}, {1, 2}, {40000, 1}, {3, 3}};
  for (const auto& size : sizes) {
    const auto count = static_cast<std::size_t>(size[rank % 2]);
    const std::vector<int> send(count, rank);
    std::vector<int> receive(count + 1, -1);
    const auto check = [&] {
      for (std::size_t i = 0; i < count; ++i) CHECK(receive[i] == peer);
      CHECK(receive[count] == -1);
      std::fill(receive.begin(), receive.end(), -1);
    };
    const int n = static_cast<int>(count);
    MPI_Neighbor_alltoall(send.data(), n, MPI_INT, receive.data(), n, MPI_INT, comm);
    check();
    MPI_Neighbor_allgather(send.data(), n, MPI_INT, receive.data(), n, MPI_INT, comm);
    check();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ineighbor_alltoall(send.data(), n, MPI_INT, receive.data(), n, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check();
    MPI_Ineighbor_allgather(send.data(), n, MPI_INT, receive.data(), n, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check();
  }
  MPI_Comm_free(&comm);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
