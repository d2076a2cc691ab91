/* Cells on a ring, each the exclusive or of its neighbours before. A rank computes what it has, and the cells at each
 * end as soon as the block of that edge has come, whichever comes first. */
#include <laneway/laneway.h>
#include <stdio.h>
#include <string.h>

enum { cells = 1000, width = 4, steps = 50 }; /* a block of `width` cells is good for so many steps */

static void step_between(const int* before, int* after, int first, int last) {
  for (int i = first; i < last; ++i) after[i] = before[i - 1] ^ before[i + 1];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  /* What goes to the left comes from the right: the same order on both sides, also where they are one rank. */
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const int destinations[2] = {left, right}, sources[2] = {right, left};
  LNW_Topology ring;
  LNW_Topology_create(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL,
                      &ring);
  int sent[2][width], received[2][width];
  const int counts[2] = {width, width}, places[2] = {0, width}, whole[2] = {1, 1}, at_start[2] = {0, 0};
  LNW_Request halo;
  LNW_Neighbor_alltoallv_init_partitioned_topology(sent, counts, places, MPI_INT, received, counts, places, MPI_INT,
                                                   at_start, whole, ring, MPI_INFO_NULL, &halo);

  static int now[cells + 2 * width], next[cells + 2 * width];
  int* const own = now + width;
  for (int i = 0; i < cells; ++i) own[i] = (rank * cells + i) % 7 == 3;
  for (int step = 0; step < steps; ++step) {
    memcpy(sent[0], own, sizeof sent[0]);
    memcpy(sent[1], own + cells - width, sizeof sent[1]);
    LNW_Start(&halo);
    step_between(now, next, width + 1, width + cells - 1);
    for (int edge, partition; LNW_Wait_any_edge(halo, &edge, &partition), edge != MPI_UNDEFINED;) {
      const int is_right = edge == 0;
      memcpy(is_right ? own + cells : now, received[edge], sizeof received[edge]);
      const int at = is_right ? width + cells - 1 : width;
      step_between(now, next, at, at + 1);
    }
    LNW_Wait(&halo, MPI_STATUS_IGNORE);
    memcpy(own, next + width, cells * sizeof *own);
  }

  /* After 2^k steps a cell is the exclusive or of those 2^k to its left and right: 50 are 32, 16 and 2. */
  const int total = size * cells, jumps[3] = {32, 16, 2};
  int wrong = 0;
  for (int i = 0; i < cells; ++i) {
    int expected = 0;
    for (int choice = 0; choice < 8; ++choice) {
      int from = rank * cells + i;
      for (int k = 0; k < 3; ++k) from += choice >> k & 1 ? jumps[k] : -jumps[k];
      expected ^= ((from % total + total) % total) % 7 == 3;
    }
    wrong += own[i] != expected;
  }
  printf("rank %d: %s\n", rank, wrong == 0 ? "all cells are right" : "WRONG");

  LNW_Request_free(&halo);
  LNW_Topology_free(&ring);
  MPI_Finalize();
  return wrong != 0;
}
