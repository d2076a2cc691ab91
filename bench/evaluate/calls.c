#define _GNU_SOURCE  // RTLD_DEFAULT

#include "evaluate/evaluate.h"

#include <dlfcn.h>
#include <string.h>

const Calls mpi_calls = {"mpi",      MPI_Barrier,   MPI_Bcast,    MPI_Reduce,   MPI_Allreduce,
                         MPI_Gather, MPI_Allgather, MPI_Alltoall, MPI_Alltoallv};
Calls our_calls = {.name = "laneway"};
OurCalls ours;
const MpiNeighborCalls mpi_neighbors = {.allgather = MPI_Neighbor_allgather,
                                        .allgatherv = MPI_Neighbor_allgatherv,
                                        .alltoall = MPI_Neighbor_alltoall,
                                        .alltoallv = MPI_Neighbor_alltoallv,
                                        .alltoallw = MPI_Neighbor_alltoallw};
MpiInits mpi_inits;
OurInits our_inits;
MpiNeighborInits mpi_neighbor_inits;
OurNeighborCalls our_neighbors;
OurNeighborInits our_neighbor_inits;

#ifdef LANEWAY_EVALUATE_LINKED
// A simulated rank has globals of its own only in the program itself, so that Laneway is linked; what it lacks is null.
#define FIND(member, symbol)                       \
  do {                                             \
    extern int symbol(void) __attribute__((weak)); \
    void* found = (void*)(size_t)symbol;           \
    memcpy(&(member), &found, sizeof found);       \
  } while (0)
#else
#define FIND(member, symbol)                 \
  do {                                       \
    void* found = dlsym(library, #symbol);   \
    memcpy(&(member), &found, sizeof found); \
  } while (0)
#endif

const char* load_laneway(const char* file) {
#ifdef LANEWAY_EVALUATE_LINKED
  (void)file;
#else
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return dlerror();
  }
#endif
  FIND(our_calls.barrier, LNW_Barrier);
  FIND(our_calls.bcast, LNW_Bcast);
  FIND(our_calls.reduce, LNW_Reduce);
  FIND(our_calls.allreduce, LNW_Allreduce);
  FIND(our_calls.gather, LNW_Gather);
  FIND(our_calls.allgather, LNW_Allgather);
  FIND(our_calls.alltoall, LNW_Alltoall);
  FIND(our_calls.alltoallv, LNW_Alltoallv);
  FIND(our_inits.barrier, LNW_Barrier_init);
  FIND(our_inits.bcast, LNW_Bcast_init);
  FIND(our_inits.reduce, LNW_Reduce_init);
  FIND(our_inits.allreduce, LNW_Allreduce_init);
  FIND(our_inits.gather, LNW_Gather_init);
  FIND(our_inits.allgather, LNW_Allgather_init);
  FIND(our_inits.alltoall, LNW_Alltoall_init);
  FIND(our_inits.alltoallv, LNW_Alltoallv_init);
  FIND(ours.topology_create, LNW_Topology_create);
  FIND(ours.topology_get_neighbors, LNW_Topology_get_neighbors);
  FIND(ours.topology_free, LNW_Topology_free);
  FIND(our_neighbors.allgather, LNW_Neighbor_allgather_topology);
  FIND(our_neighbor_inits.allgather, LNW_Neighbor_allgather_init_topology);
  FIND(our_neighbors.allgatherv, LNW_Neighbor_allgatherv_topology);
  FIND(our_neighbor_inits.allgatherv, LNW_Neighbor_allgatherv_init_topology);
  FIND(our_neighbors.alltoall, LNW_Neighbor_alltoall_topology);
  FIND(our_neighbor_inits.alltoall, LNW_Neighbor_alltoall_init_topology);
  FIND(our_neighbors.alltoallv, LNW_Neighbor_alltoallv_topology);
  FIND(our_neighbor_inits.alltoallv, LNW_Neighbor_alltoallv_init_topology);
  FIND(our_neighbors.alltoallw, LNW_Neighbor_alltoallw_topology);
  FIND(our_neighbor_inits.alltoallw, LNW_Neighbor_alltoallw_init_topology);
  FIND(our_neighbors.reducev, LNW_Neighbor_reducev_topology);
  FIND(our_neighbor_inits.reducev, LNW_Neighbor_reducev_init_topology);
  FIND(ours.start, LNW_Start);
  FIND(ours.wait, LNW_Wait);
  FIND(ours.request_free, LNW_Request_free);
  FIND(ours.request_get_strategy, LNW_Request_get_strategy);
  FIND(ours.sparse_alltoallv, LNW_Sparse_alltoallv);
  FIND(ours.arrivals_get_count, LNW_Arrivals_get_count);
  FIND(ours.arrivals_get_sources, LNW_Arrivals_get_sources);
  FIND(ours.arrivals_get_data, LNW_Arrivals_get_data);
  FIND(ours.arrivals_get_info, LNW_Arrivals_get_info);
  FIND(ours.arrivals_free, LNW_Arrivals_free);
  FIND(ours.get_version, LNW_Get_version);
  return ours.get_version ? NULL : "it has no LNW_Get_version";
}

void find_persistent_calls(void) {
#ifndef LANEWAY_EVALUATE_LINKED
  // The library's header does not tell without its version; the library itself does.
  void* library = RTLD_DEFAULT;
  FIND(mpi_inits.barrier, MPI_Barrier_init);
  FIND(mpi_inits.bcast, MPI_Bcast_init);
  FIND(mpi_inits.reduce, MPI_Reduce_init);
  FIND(mpi_inits.allreduce, MPI_Allreduce_init);
  FIND(mpi_inits.gather, MPI_Gather_init);
  FIND(mpi_inits.allgather, MPI_Allgather_init);
  FIND(mpi_inits.alltoall, MPI_Alltoall_init);
  FIND(mpi_inits.alltoallv, MPI_Alltoallv_init);
  FIND(mpi_neighbor_inits.allgather, MPI_Neighbor_allgather_init);
  FIND(mpi_neighbor_inits.allgatherv, MPI_Neighbor_allgatherv_init);
  FIND(mpi_neighbor_inits.alltoall, MPI_Neighbor_alltoall_init);
  FIND(mpi_neighbor_inits.alltoallv, MPI_Neighbor_alltoallv_init);
  FIND(mpi_neighbor_inits.alltoallw, MPI_Neighbor_alltoallw_init);
#endif
}
