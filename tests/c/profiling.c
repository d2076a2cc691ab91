/* Calls reach a tool first, and what the library calls of its own does not. */
#include <laneway/laneway.h>
#include <stdio.h>

extern int counted_inits, counted_waits;

int main(int argc, char** argv) {
  int rank, ranks, received = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int from = (rank + ranks - 1) % ranks, to = (rank + 1) % ranks;
  const int weight = 1;
  MPI_Comm ring;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, &weight, 1, &to, &weight, MPI_INFO_NULL, 0, &ring);
  LNW_Request request;
  LNW_Neighbor_alltoall_init(&rank, 1, MPI_INT, &received, 1, MPI_INT, ring, MPI_INFO_NULL, &request);
  LNW_Start(&request);
  LNW_Wait(&request, MPI_STATUS_IGNORE);
  LNW_Start(&request);
  LNW_Waitall(1, &request, MPI_STATUSES_IGNORE);
  LNW_Request_free(&request);
  MPI_Comm_free(&ring);
  const int is_right = received == from && counted_inits == 1 && counted_waits == 1;
  if (!is_right) {
    printf("rank %d: %d instead of %d; %d calls of LNW_Neighbor_alltoall_init, %d of LNW_Wait\n", rank, received, from,
           counted_inits, counted_waits);
  }
  MPI_Finalize();
  return !is_right;
}
