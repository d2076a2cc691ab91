#include <laneway/laneway.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, value, received = -1, next, previous, major, minor, patch;
  MPI_Comm graph;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  value = 10 * rank;
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &graph);
  LNW_Neighbor_allgather(&value, 1, MPI_INT, &received, 1, MPI_INT, graph);
  MPI_Comm_free(&graph);
  LNW_Get_version(&major, &minor, &patch);
  if (rank == 0)
    printf("consumer: laneway %d.%d.%d, %s\n", major, minor, patch, received == 10 * previous ? "passed" : "failed");
  MPI_Finalize();
  return received != 10 * previous;
}
