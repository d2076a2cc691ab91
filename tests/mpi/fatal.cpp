// A bad argument where errors are fatal, the default, or with `abort` under MPI_ERRORS_ABORT: the job ends with the
// text of the error.
#include <cstdio>

#include "laneway/laneway.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm graph = MPI_COMM_NULL;
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &rank, MPI_UNWEIGHTED, 1, &rank, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  if (argc > 1) {
#ifdef MPI_ERRORS_ABORT
    MPI_Comm_set_errhandler(graph, MPI_ERRORS_ABORT);
#else
    std::puts("SKIP: this MPI library has no MPI_ERRORS_ABORT");
    MPI_Finalize();
    return 0;
#endif
  }
  LNW_Request request = LNW_REQUEST_NULL;
  int value = 0;
  LNW_Neighbor_allgather_init(&value, -7, MPI_INT, &value, 1, MPI_INT, graph, MPI_INFO_NULL, &request);
  std::puts("still alive");
  MPI_Finalize();
}
