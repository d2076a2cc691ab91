/** Names of MPI Advance's generations before the last one; comes with mpi_advance.h. */
#ifndef LANEWAY_MPI_ADVANCE_NAMES_H
#define LANEWAY_MPI_ADVANCE_NAMES_H

#include <laneway/mpi_advance.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The generation before had the same names with another prefix. */
#define MPIX_Comm MPIL_Comm
#define MPIX_Info MPIL_Info
#define MPIX_Topo MPIL_Topo
#define MPIX_Request MPIL_Request
#define MPIX_Comm_init MPIL_Comm_init
#define MPIX_Comm_free MPIL_Comm_free
#define MPIX_Comm_topo_init MPIL_Comm_topo_init
#define MPIX_Comm_topo_free MPIL_Comm_topo_free
#define MPIX_Info_init MPIL_Info_init
#define MPIX_Info_free MPIL_Info_free
#define MPIX_Topo_init MPIL_Topo_init
#define MPIX_Topo_from_neighbor_comm MPIL_Topo_from_neighbor_comm
#define MPIX_Topo_free MPIL_Topo_free
#define MPIX_Dist_graph_create_adjacent MPIL_Dist_graph_create_adjacent
#define MPIX_Start MPIL_Start
#define MPIX_Wait MPIL_Wait
#define MPIX_Request_free MPIL_Request_free
#define MPIX_Neighbor_alltoallv MPIL_Neighbor_alltoallv
#define MPIX_Neighbor_alltoallv_topo MPIL_Neighbor_alltoallv_topo
#define MPIX_Neighbor_alltoallv_init MPIL_Neighbor_alltoallv_init
#define MPIX_Neighbor_alltoallv_init_topo MPIL_Neighbor_alltoallv_init_topo
#define MPIX_Neighbor_alltoallv_init_ext MPIL_Neighbor_alltoallv_init_ext
#define MPIX_Neighbor_alltoallv_init_ext_topo MPIL_Neighbor_alltoallv_init_ext_topo
#define MPIX_Alltoall_crs MPIL_Alltoall_crs
#define MPIX_Alltoallv_crs MPIL_Alltoallv_crs
#define MPIX_Alltoall MPIL_Alltoall
#define MPIX_Alltoallv MPIL_Alltoallv
#define MPIX_Allgather MPIL_Allgather
#define MPIX_Allreduce MPIL_Allreduce
#define MPIX_Alltoall_init MPIL_Alltoall_init
#define MPIX_Alltoallv_init MPIL_Alltoallv_init
#define MPIX_Allgather_init MPIL_Allgather_init
#define MPIX_Allreduce_init MPIL_Allreduce_init
#define MPIX_Comm_update_locality MPIL_Comm_update_locality
#define MPIX_Comm_tag MPIL_Comm_tag
#define MPIX_Comm_leader_init MPIL_Comm_leader_init
#define MPIX_Comm_leader_free MPIL_Comm_leader_free
#define MPIX_Comm_win_init MPIL_Comm_win_init
#define MPIX_Comm_win_free MPIL_Comm_win_free
#define MPIX_Comm_device_init MPIL_Comm_device_init
#define MPIX_Comm_device_free MPIL_Comm_device_free
#define MPIX_Comm_req_resize MPIL_Comm_req_resize
#define MPIX_Request_reorder MPIL_Request_reorder
#define MPIX_Request_win_init MPIL_Request_win_init
#define MPIX_Request_win_free MPIL_Request_win_free
#define MPIX_Alloc MPIL_Alloc
#define MPIX_Free MPIL_Free

/* And the first one said in the name how data moves. Its calls with an MPI_Info take an MPIX_Info* here, as its last
 * version did. */
#define MPIX_Neighbor_part_locality_topo_alltoallv_init MPIL_Neighbor_alltoallv_init_topo
#define MPIX_Neighbor_locality_topo_alltoallv_init MPIL_Neighbor_alltoallv_init_ext_topo
#define MPIX_Neighbor_topo_alltoallv_init MPIL_Neighbor_alltoallv_init_topo
#define MPIX_Neighbor_topo_alltoallv MPIL_Neighbor_alltoallv_topo
#define MPIX_Neighbor_part_locality_alltoallv_init MPIL_Neighbor_alltoallv_init
#define MPIX_Neighbor_locality_alltoallv_init MPIL_Neighbor_alltoallv_init_ext
#define MPIX_Neighbor_part_locality_alltoallv MPIL_Neighbor_alltoallv
#define MPIX_Neighbor_part_locality_topo_alltoallv MPIL_Neighbor_alltoallv_topo

/* Elements with the same number cross more than once: a call that plans for itself alone would lose more by looking for
 * them. */
static inline int MPIX_Neighbor_locality_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                   const long global_sindices[], MPI_Datatype sendtype, void* recvbuf,
                                                   const int recvcounts[], const int rdispls[],
                                                   const long global_rindices[], MPI_Datatype recvtype,
                                                   MPIL_Comm* comm) {
  (void)global_sindices;
  (void)global_rindices;
  return MPIL_Neighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

/* Ranks keep their numbers whatever `reorder` says: a topology has no communicator of its own. */
static inline int MPIX_Topo_dist_graph_create_adjacent(int indegree, const int sources[], const int sourceweights[],
                                                       int outdegree, const int destinations[], const int destweights[],
                                                       MPI_Info info, int reorder, MPIL_Topo** topo) {
  (void)info;
  (void)reorder;
  return MPIL_Topo_init(indegree, sources, sourceweights, outdegree, destinations, destweights, NULL, topo);
}

static inline int MPIX_Topo_dist_graph_neighbors_count(MPIL_Topo* topo, int* indegree, int* outdegree, int* weighted) {
  *indegree = topo->indegree;
  *outdegree = topo->outdegree;
  *weighted = topo->sourceweights != NULL || topo->destweights != NULL;
  return MPI_SUCCESS;
}

/* Weights are written where there are some, and `sourceweights` and `destweights` have room for them. */
static inline int MPIX_Topo_dist_graph_neighbors(MPIL_Topo* topo, int maxindegree, int sources[], int sourceweights[],
                                                 int maxoutdegree, int destinations[], int destweights[]) {
  for (int i = 0; i < topo->indegree && i < maxindegree; ++i) {
    sources[i] = topo->sources[i];
    if (topo->sourceweights != NULL && sourceweights != NULL && sourceweights != MPI_UNWEIGHTED)
      sourceweights[i] = topo->sourceweights[i];
  }
  for (int i = 0; i < topo->outdegree && i < maxoutdegree; ++i) {
    destinations[i] = topo->destinations[i];
    if (topo->destweights != NULL && destweights != NULL && destweights != MPI_UNWEIGHTED)
      destweights[i] = topo->destweights[i];
  }
  return MPI_SUCCESS;
}

#ifdef __cplusplus
}
#endif

#endif
