// Ranks of two worlds on one node share its memory. `spawn` starts as many processes again; `world` first exchanges
// among the ranks of each world, whose nodes are known from then on.
#include <cstdio>
#include <string>
#include <vector>

#include "laneway/laneway.h"

namespace {

/// Every rank sends to every rank. Whether all went well, and through shared memory.
bool exchange(MPI_Comm comm, const char* strategy) {
  constexpr int count = 100;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<int> all(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) all[static_cast<std::size_t>(i)] = i;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_strategy", strategy);
  MPI_Comm graph = MPI_COMM_NULL;
  LNW_Dist_graph_create_adjacent(comm, size, all.data(), MPI_UNWEIGHTED, size, all.data(), MPI_UNWEIGHTED, info, 0,
                                 &graph);
  std::vector<int> send(static_cast<std::size_t>(size * count));
  std::vector<int> receive(send.size());
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Neighbor_alltoall_init(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, graph, info, &request);
  int wrong = 0;
  for (int turn = 0; turn < 10; ++turn) {
    for (int i = 0; i < size * count; ++i) send[static_cast<std::size_t>(i)] = 100000 * rank + 10 * i + turn;
    LNW_Start(&request);
    LNW_Wait(&request, MPI_STATUS_IGNORE);
    for (int from = 0; from < size; ++from)
      for (int i = 0; i < count; ++i)
        wrong += receive[static_cast<std::size_t>(from * count + i)] != 100000 * from + 10 * (rank * count + i) + turn;
  }
  LNW_Request_statistics statistics;
  LNW_Request_get_statistics(request, &statistics);
  const bool good = wrong == 0 && statistics.net_messages == 0 && (size == 1 || statistics.window_bytes > 0);
  if (!good)
    std::printf("wrong: rank %d of %d, %s: %d values, %lld messages between nodes, window of %lld bytes\n", rank, size,
                strategy, wrong, static_cast<long long>(statistics.net_messages),
                static_cast<long long>(statistics.window_bytes));
  LNW_Request_free(&request);
  MPI_Comm_free(&graph);
  MPI_Info_free(&info);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  const std::string mode = argc > 1 ? argv[1] : "";
  // In one mode only the children know the nodes of their world, so that ranks differ in what they know.
  const bool is_child = parent != MPI_COMM_NULL;
  bool good = true;
  if (mode == "world" || (mode == "children" && is_child)) good = exchange(MPI_COMM_WORLD, "three_step");
  if (is_child) {
    between = parent;
  } else {
    char* arguments[] = {argv[1], nullptr};
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int error = MPI_Comm_spawn(argv[0], argc > 1 ? arguments : MPI_ARGV_NULL, size, MPI_INFO_NULL, 0,
                                     MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (error != MPI_SUCCESS) {
      std::puts("SKIP: this MPI library spawns no processes here");
      MPI_Finalize();
      return 0;
    }
  }
  MPI_Intercomm_merge(between, is_child, &merged);
  for (const char* strategy : {"direct", "three_step", "auto"}) good = exchange(merged, strategy) && good;
  int all_good = good;
  MPI_Allreduce(MPI_IN_PLACE, &all_good, 1, MPI_INT, MPI_MIN, merged);
  int rank = 0;
  MPI_Comm_rank(merged, &rank);
  if (rank == 0 && all_good) std::puts("two worlds share their node");
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return all_good ? 0 : 1;
}
