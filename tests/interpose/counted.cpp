// A program whose calls a tool counts (counting_tool.cpp), which may come after the library: then `started`, and
// `waits` where the exchanges themselves are taken over.
#include <dlfcn.h>

#include <cstring>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto counted = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "counted_calls"));
  const auto counted_starts = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "counted_starts"));
  const auto counted_waits = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "counted_waits"));
  CHECK(counted != nullptr && counted_starts != nullptr && counted_waits != nullptr);
  const auto has_argument = [&](const char* text) {
    for (int i = 1; i < argc; ++i)
      if (std::strcmp(argv[i], text) == 0) return true;
    return false;
  };
  if (has_argument("started")) CHECK(counted_starts() == 1);
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  const Graph graph = ring_graph(size);
  MPI_Comm ring = graph.create_adjacent(MPI_COMM_WORLD);
  const std::vector<int> in = graph.in(rank);
  const std::size_t degree = in.size();
  std::vector<int> send(degree + 1, rank), received(degree + 1), counts(degree + 1, 1), places(degree + 1);
  for (std::size_t i = 0; i < degree; ++i) places[i] = static_cast<int>(i);
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    std::fill(received.begin(), received.end(), -1);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ineighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_INT, received.data(), counts.data(),
                            places.data(), MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < degree; ++i) CHECK(received[i] == graph.edges[static_cast<std::size_t>(in[i])].source);
  }
  if (has_argument("waits")) {
    CHECK(counted() == counted_waits());
    CHECK(counted_waits() == rounds);
  } else {
    CHECK(counted() == 2 * rounds);
  }
  MPI_Comm_free(&ring);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
