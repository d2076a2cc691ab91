/** Exchanges with neighbors: what the benchmarks of neighborhood operations and of discovery share. */
#ifndef LANEWAY_EVALUATE_NEIGHBORS_H
#define LANEWAY_EVALUATE_NEIGHBORS_H

#include "evaluate/evaluate.h"

enum { most_neighbors = 64 };

typedef enum NeighborOperation {
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  neighbor_reducev, /**< MPI has none; what arrives is combined by MPI_MAX, which may be repeated */
} NeighborOperation;

/** An exchange with neighbors that each rank knows. Counts are of int. */
typedef struct Exchange {
  NeighborOperation operation;
  MPI_Comm comm; /**< with the neighbors, where MPI has such communicators */
  int sources, destinations, count;
  int from[most_neighbors], to[most_neighbors];
  int sendcounts[most_neighbors], sdispls[most_neighbors], recvcounts[most_neighbors], rdispls[most_neighbors];
  int places[most_neighbors]; /**< where the loop receives, which combines afterwards */
  MPI_Aint send_bytes[most_neighbors], recv_bytes[most_neighbors];
  MPI_Datatype types[most_neighbors];
  int *send, *recv, *parts;
  void* topology; /**< of Laneway's calls */
  OurRequest request;
  MPI_Request mpi_request;
  char strategy[64];
} Exchange;

/** A bidirectional pattern, "ring" or "mesh": every rank with those at these distances on a ring, each once and without
 * itself. */
void set_neighbors(Exchange* e, const char* pattern);

#endif
