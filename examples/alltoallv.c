/* A ring in which every rank sends one number to each neighbour, with MPI's own argument lists. */
#include <laneway/laneway.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  const int neighbors[2] = {(rank + size - 1) % size, (rank + 1) % size};
  MPI_Comm ring;
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors, MPI_UNWEIGHTED, 2, neighbors, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &ring);

  double owned[2] = {rank, rank + 0.5};
  double ghosts[2] = {-1, -1};
  const int counts[2] = {1, 1};
  const int displacements[2] = {0, 1};
  LNW_Request exchange;
  LNW_Neighbor_alltoallv_init(owned, counts, displacements, MPI_DOUBLE, ghosts, counts, displacements, MPI_DOUBLE, ring,
                              MPI_INFO_NULL, &exchange);
  for (int iteration = 0; iteration < 10; ++iteration) {
    LNW_Start(&exchange);
    LNW_Wait(&exchange, MPI_STATUS_IGNORE);
  }
  printf("rank %d: %.1f from the left, %.1f from the right\n", rank, ghosts[0], ghosts[1]);

  LNW_Request_free(&exchange);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
