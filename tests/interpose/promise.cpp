// A program that breaks the promise of LANEWAY_FIXED_COUNTS.
#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Graph graph = ring_graph(size_of(MPI_COMM_WORLD));
  const MPI_Comm ring = graph.create_adjacent(MPI_COMM_WORLD);
  const auto degree = graph.in(0).size();
  std::vector<int> send(4 * degree), receive(4 * degree), places(degree);
  for (std::size_t i = 0; i < degree; ++i) places[i] = static_cast<int>(4 * i);
  for (int count = 1; count <= 2; ++count) {
    const std::vector<int> counts(degree, count);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ineighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_INT, receive.data(), counts.data(),
                            places.data(), MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  std::puts("still alive");
  MPI_Finalize();
}
