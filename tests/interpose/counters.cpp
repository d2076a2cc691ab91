// A tool that is linked with Laneway, in a program that knows nothing of it: what the preload counts, by LNW_Pvar_read.
//   counters WAY    of the preload: taken, left, or none
#include <laneway/laneway.h>

#include "check.hpp"

namespace {

MPI_Count read(const char* name, MPI_Comm comm) {
  int index = -1;
  MPI_Count value = -1;
  CHECK(LNW_Pvar_get_index(name, &index) == MPI_SUCCESS);
  CHECK(LNW_Pvar_read(index, comm, &value) == MPI_SUCCESS);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string way = argc > 1 ? argv[1] : "none";
  constexpr int calls = 7, block = 24;
  const Graph ring = ring_graph(size_of(MPI_COMM_WORLD));
  MPI_Comm graph = ring.create_adjacent(MPI_COMM_WORLD), other = ring.create_adjacent(MPI_COMM_WORLD);
  const std::size_t degree = ring.out(rank_in(graph)).size();
  std::vector<char> send(block), receive(block * degree);
  for (int call = 0; call < calls; ++call)
    MPI_Neighbor_allgather(send.data(), block, MPI_CHAR, receive.data(), block, MPI_CHAR, graph);
  const MPI_Count taken = way == "taken" ? calls : 0, left = way == "left" ? calls : 0;
  CHECK(read("preload_taken", graph) == taken && read("preload_taken", MPI_COMM_NULL) == taken);
  // Of a communicator that is left to the MPI library altogether nothing is kept but the sum of all.
  CHECK(read("preload_left", graph) == 0 && read("preload_left", MPI_COMM_NULL) >= left);
  const MPI_Count messages = taken * static_cast<MPI_Count>(degree);
  CHECK(read("preload_messages", graph) == messages && read("preload_bytes", graph) == messages * block);
  CHECK(read("preload_taken", other) == 0 && read("preload_left", other) == 0);
  CHECK(read("blocking_calls", MPI_COMM_NULL) == 0);  // Laneway's own, of which there are none
  MPI_Comm_free(&graph);
  MPI_Comm_free(&other);
  CHECK(read("preload_taken", MPI_COMM_NULL) == taken);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
