// Ranks that cannot share memory, or refuse to (the rank in the argument): everything works as with messages.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "laneway/laneway.h"
#include "system_limits.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  laneway::test::refuse_shared_memory(argc > 1 && std::atoi(argv[1]) == rank);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Comm graph = MPI_COMM_NULL;
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  bool good = true;
  for (int turn = 0; turn < 2; ++turn) {
    int sent = -1, received = -1;
    LNW_Request request = LNW_REQUEST_NULL;
    LNW_Neighbor_allgather_init(&sent, 1, MPI_INT, &received, 1, MPI_INT, graph, MPI_INFO_NULL, &request);
    std::string plan(20000, '\0');
    MPI_Count length = 0;
    LNW_Request_get_plan(request, plan.data(), static_cast<MPI_Count>(plan.size()), &length);
    good = good && plan.find("\"put\"") == std::string::npos && plan.find("\"send\"") != std::string::npos;
    for (int i = 0; i < 10; ++i) {
      sent = 100 * i + rank;
      LNW_Start(&request);
      LNW_Wait(&request, MPI_STATUS_IGNORE);
      good = good && received == 100 * i + left;
    }
    LNW_Request_free(&request);
  }
  std::puts(good ? "right" : "wrong");
  MPI_Comm_free(&graph);
  MPI_Finalize();
  return good ? 0 : 1;
}
