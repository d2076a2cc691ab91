// A rank that breaks the promise of lnw_fixed_counts: the job ends with a text, since the others could only hang. With
// an argument, in a nonblocking dense operation, also under LANEWAY_CHECK, since such a call asks nobody.
#include <cstdio>
#include <cstdlib>

#include "laneway/laneway.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_fixed_counts", "true");
  const int other = 1 - rank;
  if (argc > 1) {
    setenv("LANEWAY_FIXED_DENSE_COUNTS", "true", 1);
    setenv("LANEWAY_CHECK", "1", 1);
    setenv("LANEWAY_COLLECTIVE", "alltoall:pairwise", 1);
    const int data[2] = {rank, rank};
    int received[4];
    const int places[2] = {0, 1};
    for (int count = 0; count < 2; ++count) {
      const int counts[2] = {rank == 0 ? 1 : count, rank};
      LNW_Request request = LNW_REQUEST_NULL;
      LNW_Ialltoallv(data, counts, places, MPI_INT, received, counts, places, MPI_INT, MPI_COMM_WORLD, &request);
      LNW_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
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
