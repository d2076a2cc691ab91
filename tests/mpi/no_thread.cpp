// lnw_progress=thread where MPI lets no threads call it: rank 0 says so, once, and everything works as without.
#include <cstdio>

#include "laneway/laneway.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_progress", "thread");
  const int other = 1 - rank;
  MPI_Comm graph = MPI_COMM_NULL;
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, info, 0, &graph);
  bool right = true;
  for (int turn = 0; turn < 2; ++turn) {
    int received = -1;
    LNW_Request request = LNW_REQUEST_NULL;
    LNW_Neighbor_allgather_init(&rank, 1, MPI_INT, &received, 1, MPI_INT, graph, MPI_INFO_NULL, &request);
    LNW_Start(&request);
    LNW_Wait(&request, MPI_STATUS_IGNORE);
    LNW_Request_free(&request);
    right = right && received == other;
    received = -1;
    LNW_Ineighbor_allgather(&rank, 1, MPI_INT, &received, 1, MPI_INT, graph, &request);
    LNW_Wait(&request, MPI_STATUS_IGNORE);
    right = right && received == other;
  }
  std::puts(right ? "right" : "wrong");
  MPI_Info_free(&info);
  MPI_Comm_free(&graph);
  MPI_Finalize();
  return right ? 0 : 1;
}
