// A rank that breaks the promise of lnw_fixed_counts: the job ends with a text, since the others could only hang.
#include <cstdio>

#include "laneway/laneway.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_fixed_counts", "true");
  const int other = 1 - rank;
  MPI_Comm graph = MPI_COMM_NULL;
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, info, 0, &graph);
  const int send[2] = {1, 2};
  int receive[2];
  const int displacement = 0;
  for (int count = 1; count <= 2; ++count)
    LNW_Neighbor_alltoallv(send, &count, &displacement, MPI_INT, receive, &count, &displacement, MPI_INT, graph);
  std::puts("still alive");
  MPI_Info_free(&info);
  MPI_Finalize();
}
