/** Laneway: irregular data movement along the machine's hierarchy, on any MPI.
 *
 *  LNW_X takes exactly the arguments of MPI_X, on ordinary communicators; see docs/c-api.md. All functions return an
 * MPI error code, after calling the communicator's error handler; MPI_Error_string gives a text that names the rank,
 * the call and the argument.
 */
#ifndef LANEWAY_H
#define LANEWAY_H

#include <mpi.h>

#if defined(__GNUC__)
#define LNW_PUBLIC __attribute__((visibility("default")))
#else
#define LNW_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LNW_VERSION_MAJOR 0
#define LNW_VERSION_MINOR 1
#define LNW_VERSION_PATCH 0

/** A persistent or nonblocking neighborhood operation. */
typedef struct LNW_Request_s* LNW_Request;
#define LNW_REQUEST_NULL ((LNW_Request)0)

/** For bindings: in place of a buffer that is an array section with gaps. All ranks of a collective call then get the
 *  error that the buffer is not contiguous. */
#define LNW_NOT_CONTIGUOUS ((void*)-2)
/** Neighbours of the ranks of a communicator, without a communicator of their own. */
typedef struct LNW_Topology_s* LNW_Topology;
#define LNW_TOPOLOGY_NULL ((LNW_Topology)0)

/** Version of the library that is linked, to compare with LNW_VERSION_*. */
LNW_PUBLIC int LNW_Get_version(int* major, int* minor, int* patch);

/** As MPI_Dist_graph_create_adjacent. Hints in `info` (docs/hints.md) hold for all operations on the new communicator.
 *
 *  If `reorder` is true on all ranks, processes may get new ranks, so that little weight is between nodes: the process
 *  with rank i in the new communicator has the neighbours, in the order and with the weights, that rank i of `comm_old`
 * has given. MPI_UNWEIGHTED counts as 1 for each edge. Rank 0 needs memory for the whole graph meanwhile.
 */
LNW_PUBLIC int LNW_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                              const int* sourceweights, int outdegree, const int destinations[],
                                              const int* destweights, MPI_Info info, int reorder,
                                              MPI_Comm* comm_dist_graph);

/** What reordering has brought. Weights are sums over edges, as the destinations' arguments give them. */
typedef struct LNW_Reorder {
  MPI_Count weight;     /**< of all edges */
  MPI_Count cut_before; /**< of the edges between nodes, had every process kept its rank */
  MPI_Count cut_after;  /**< of the edges between nodes, with the new ranks; never more than before */
  int moved;            /**< processes whose rank has changed */
  int has_partitioner;  /**< false: the library was built without Scotch, and keeps the order */
} LNW_Reorder;

/** Local. `comm` was returned by LNW_Dist_graph_create_adjacent with `reorder`; of any other communicator (also a
 *  duplicate) `*report` is all zero, and the call fails with MPI_ERR_TOPOLOGY. */
LNW_PUBLIC int LNW_Comm_get_reorder(MPI_Comm comm, LNW_Reorder* report);
/** @name Topology objects
 *  An operation with the suffix `_topology` takes such an object in place of a communicator; its ranks are those of the
 * communicator that the object was made from. Errors go to the error handler which that communicator had then.
 *  @{ */
/** As MPI_Dist_graph_create_adjacent, but makes no communicator, and takes no notice of weights. Collective over
 *  `comm`, and synchronising. Hints in `info` hold for all operations on the topology. */
LNW_PUBLIC int LNW_Topology_create(MPI_Comm comm, int indegree, const int sources[], const int* sourceweights,
                                   int outdegree, const int destinations[], const int* destweights, MPI_Info info,
                                   LNW_Topology* topology);
/** The topology, and the hints, of a distributed-graph, graph or Cartesian communicator. Collective, and synchronising.
 */
LNW_PUBLIC int LNW_Topology_from_comm(MPI_Comm comm, LNW_Topology* topology);
/** Numbers of neighbours as the operations see them, also those that are MPI_PROC_NULL. Local. */
LNW_PUBLIC int LNW_Topology_get_neighbors_count(LNW_Topology topology, int* indegree, int* outdegree);
/** The first `maxindegree` sources and `maxoutdegree` destinations, in the order of the blocks in the buffers. Local.
 */
LNW_PUBLIC int LNW_Topology_get_neighbors(LNW_Topology topology, int maxindegree, int sources[], int maxoutdegree,
                                          int destinations[]);
/** Local. Requests made on the topology live on. */
LNW_PUBLIC int LNW_Topology_free(LNW_Topology* topology);
/** @} */

/** @name Blocking operations
 *  As the MPI functions of the same name, on distributed-graph, graph and Cartesian communicators.
 *  @{ */
LNW_PUBLIC int LNW_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                       MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                      MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                      MPI_Datatype recvtype, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                      const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
/** @} */

/** @name Nonblocking operations
 *  As the MPI functions of the same name. Never blocks; LNW_Wait, LNW_Test and their forms for many requests complete
 * the request, free it and set it to LNW_REQUEST_NULL. Counts, displacements and datatypes may be freed after the call.
 *  Ranks make these calls in the same order on one communicator, and complete them in any order.
 *
 *  Where this is the first call of this library on a communicator, the messages start in a later call of this library,
 *  and MPI_Comm_idup calls the copy functions of the communicator's attributes (docs/c-api.md).
 *  @{ */
LNW_PUBLIC int LNW_Ineighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                        MPI_Comm comm, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      int recvcount, MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                       MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                       const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                       const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                       LNW_Request* request);
/** @} */

/** @name Persistent operations
 *  As the MPI 4 functions of the same name. Collective, and synchronising: this is where the plan is made. Data that
 * the send side names more than once (overlapping displacements, datatypes, indices) crosses between two nodes once.
 *  Datatypes may be freed, and the communicator too, while requests live.
 *  @{ */
LNW_PUBLIC int LNW_Neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                           LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                            const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                            MPI_Comm comm, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                          LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                           MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                           const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                           LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                           const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                           MPI_Info info, LNW_Request* request);

/** Neighbor_alltoallv with index lists instead of displacements: gathers from and scatters to arbitrary elements.
 *
 *  The k-th destination gets elements sendindices[i] of `sendbuf`, in that order, for the sendcounts[k] values of i
 * after those of the destinations before it; likewise the k-th source's elements go to places recvindices[i] of
 * `recvbuf`. Indices count in extents of the datatype, and may repeat on both sides: a repeated place takes the last
 * value. They are checked against `sendsize` and `recvsize`, the number of elements in the buffers. The lists may be
 * freed after the call. If both buffers are NULL, they are given later by LNW_Request_set_buffers, before the first
 * start.
 */
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                                   const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                                   MPI_Count recvsize, const int recvcounts[],
                                                   const MPI_Count recvindices[], MPI_Datatype recvtype, MPI_Comm comm,
                                                   MPI_Info info, LNW_Request* request);
/** @} */

/** @name Large counts
 *  The operations above with MPI_Count counts and MPI_Aint displacements, as the MPI 4 functions with the suffix `_c`;
 *  also where the MPI library has none.
 *  @{ */
LNW_PUBLIC int LNW_Neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                         MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                        MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                        const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                        const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
LNW_PUBLIC int LNW_Ineighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                         LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                          MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                        LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                         MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                         const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                         LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                         const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                         LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                             MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                              void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                              MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                              LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                            MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                             const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                             const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                             MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                             const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                                             const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                             const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                             LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed_c(const void* sendbuf, MPI_Count sendsize,
                                                     const MPI_Count sendcounts[], const MPI_Count sendindices[],
                                                     MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                     const MPI_Count recvcounts[], const MPI_Count recvindices[],
                                                     MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                                     LNW_Request* request);
/** @} */

/** @name Operations on topology objects
 *  The operations above on a topology object (LNW_Topology_create).
 *  @{ */
LNW_PUBLIC int LNW_Neighbor_allgather_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                               int recvcount, MPI_Datatype recvtype, LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_allgatherv_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                void* recvbuf, const int recvcounts[], const int displs[],
                                                MPI_Datatype recvtype, LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_alltoall_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                              int recvcount, MPI_Datatype recvtype, LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_alltoallv_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                               MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                               const int rdispls[], MPI_Datatype recvtype, LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_alltoallw_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                               const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                               const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                               LNW_Topology topology);
LNW_PUBLIC int LNW_Ineighbor_allgather_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                                LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_allgatherv_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                 void* recvbuf, const int recvcounts[], const int displs[],
                                                 MPI_Datatype recvtype, LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoall_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                               int recvcount, MPI_Datatype recvtype, LNW_Topology topology,
                                               LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoallv_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                const int rdispls[], MPI_Datatype recvtype, LNW_Topology topology,
                                                LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoallw_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                                const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                                const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_allgather_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                    void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                                    LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_allgatherv_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                     void* recvbuf, const int recvcounts[], const int displs[],
                                                     MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                                     LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoall_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                   void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                                   LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                    const int rdispls[], MPI_Datatype recvtype, LNW_Topology topology,
                                                    MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallw_init_topology(const void* sendbuf, const int sendcounts[],
                                                    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                    void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                                    const MPI_Datatype recvtypes[], LNW_Topology topology,
                                                    MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed_topology(const void* sendbuf, MPI_Count sendsize,
                                                            const int sendcounts[], const MPI_Count sendindices[],
                                                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                            const int recvcounts[], const MPI_Count recvindices[],
                                                            MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                                            LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_allgather_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                 LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_allgatherv_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                  void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                                  MPI_Datatype recvtype, LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_alltoall_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_alltoallv_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                 const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                 const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                 MPI_Datatype recvtype, LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_alltoallw_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                 const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                 void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                 const MPI_Datatype recvtypes[], LNW_Topology topology);
LNW_PUBLIC int LNW_Ineighbor_allgather_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                  LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_allgatherv_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                   void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                                   MPI_Datatype recvtype, LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoall_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                 LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoallv_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                  const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                  const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                  MPI_Datatype recvtype, LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_alltoallw_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                  const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                  void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                  const MPI_Datatype recvtypes[], LNW_Topology topology,
                                                  LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_allgather_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                      LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_allgatherv_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                       void* recvbuf, const MPI_Count recvcounts[],
                                                       const MPI_Aint displs[], MPI_Datatype recvtype,
                                                       LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoall_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                     void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                     LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                      const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                      const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                      MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                                      LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallw_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                      const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                      void* recvbuf, const MPI_Count recvcounts[],
                                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                      LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed_topology_c(
    const void* sendbuf, MPI_Count sendsize, const MPI_Count sendcounts[], const MPI_Count sendindices[],
    MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize, const MPI_Count recvcounts[],
    const MPI_Count recvindices[], MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info, LNW_Request* request);
/** @} */

/** @name Requests
 *  Local. Start returns without waiting for anything; the send buffer must not be written and the receive buffer not
 *  accessed until the exchange is complete. Several requests may be active, started and completed in different orders
 * on different ranks. Every function of this library advances all active requests of the process that relay; those that
 *  test or wait for an active request advance all.
 *
 *  A request that a function finds complete becomes inactive if it is persistent, and is freed and set to
 * LNW_REQUEST_NULL if it is nonblocking.
 *
 *  A strategy other than `direct` relays data over other ranks. Between LNW_Start and completion a rank that waits in a
 *  call of MPI goes on relaying: its MPI library's progress engine calls this one, or a thread does the work. Where
 * some rank has neither, nothing is relayed, unless the hint lnw_progress=wait promises that no rank waits elsewhere
 * for what depends on another rank's completion (docs/c-api.md, Progress).
 *  @{ */
/** The request must be persistent and inactive. */
LNW_PUBLIC int LNW_Start(LNW_Request* request);
LNW_PUBLIC int LNW_Startall(int count, LNW_Request array_of_requests[]);
/** `*flag` is true if the exchange is complete, or the request is inactive or null. `status` (may be
 *  MPI_STATUS_IGNORE) is set empty. */
LNW_PUBLIC int LNW_Test(LNW_Request* request, int* flag, MPI_Status* status);
LNW_PUBLIC int LNW_Wait(LNW_Request* request, MPI_Status* status);
/** @name For many requests
 *  As the MPI functions of the same name. Null and inactive requests are ignored; `index` and `outcount` are
 *  MPI_UNDEFINED where no request is active.
 *  @{ */
LNW_PUBLIC int LNW_Testall(int count, LNW_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]);
LNW_PUBLIC int LNW_Waitall(int count, LNW_Request array_of_requests[], MPI_Status array_of_statuses[]);
LNW_PUBLIC int LNW_Testany(int count, LNW_Request array_of_requests[], int* index, int* flag, MPI_Status* status);
LNW_PUBLIC int LNW_Waitany(int count, LNW_Request array_of_requests[], int* index, MPI_Status* status);
LNW_PUBLIC int LNW_Testsome(int incount, LNW_Request array_of_requests[], int* outcount, int array_of_indices[],
                            MPI_Status array_of_statuses[]);
LNW_PUBLIC int LNW_Waitsome(int incount, LNW_Request array_of_requests[], int* outcount, int array_of_indices[],
                            MPI_Status array_of_statuses[]);
/** @} */
/** Frees an inactive request and sets it to LNW_REQUEST_NULL; an active one is an error. */
LNW_PUBLIC int LNW_Request_free(LNW_Request* request);

/** Binds an inactive persistent request to other buffers of the same layout: offsets, counts and types stay. */
LNW_PUBLIC int LNW_Request_set_buffers(LNW_Request request, const void* sendbuf, void* recvbuf);

/** In place of a stream: none. */
#define LNW_STREAM_NONE ((void*)-1)

/** Orders all exchanges of an inactive persistent request from now on by a stream (cudaStream_t, hipStream_t; NULL is
 * the vendor's default stream; LNW_STREAM_NONE undoes it): what is in it when LNW_Start is called comes before the
 * exchange, and what is put into it after LNW_Wait or a successful LNW_Test comes after it. Without a stream, what is
 * to be sent is there when LNW_Start is called, and what was received is there when LNW_Wait returns. Where a buffer is
 * in the host's memory, LNW_Start waits for the stream itself. Local. MPI_ERR_ARG if the stream is of another device
 * than the buffers, or is recording a graph.
 */
LNW_PUBLIC int LNW_Request_set_stream(LNW_Request request, void* stream);

/** What one rank does in one exchange of a request. */
typedef struct LNW_Request_statistics {
  MPI_Count messages;     /**< messages sent */
  MPI_Count bytes;        /**< bytes in them */
  MPI_Count net_messages; /**< of these, to other nodes */
  MPI_Count net_bytes;
  MPI_Count copied_bytes;   /**< bytes copied within the rank */
  MPI_Count staging_bytes;  /**< memory that the request holds for data in transit */
  MPI_Count arena_bytes;    /**< not 0: that is in this much memory, shared with other requests (lnw_shared_staging) */
  MPI_Count window_bytes;   /**< and for flags and mailboxes that the ranks of the node share */
  MPI_Count metadata_bytes; /**< and for its plan, copy programs and tables */
} LNW_Request_statistics;

/** Of persistent requests. */
LNW_PUBLIC int LNW_Request_get_statistics(LNW_Request request, LNW_Request_statistics* statistics);

/**
 * How the strategy of a persistent request was chosen, in a new info object that the caller frees:
 *
 * - `lnw_strategy`: the one that is used;
 * - `lnw_parameters`: name of the parameters of the machine that gave the costs; absent if a hint named the strategy,
 *   or there was only one to choose from;
 * - `lnw_cost_NAME` for each candidate: predicted seconds of an exchange, and of these latency, injection into the
 *   network, the busiest link, and processors, as five numbers;
 * - under `lnw_tune=measure`, `lnw_measured_NAME` for each strategy that was timed: seconds of an exchange; or
 *   `lnw_remembered`: the file that had the outcome;
 * - `lnw_memory_path`: how data in buffers on devices gets to other ranks, and `lnw_memory_path_reason`, a text that
 * says why; `lnw_path_cost_NAME` for each path that there was a choice between: predicted seconds of an exchange.
 */
LNW_PUBLIC int LNW_Request_get_info(LNW_Request request, MPI_Info* info);

/** Name of the strategy that the request uses, e.g. `three_step`; valid as long as the request. */
LNW_PUBLIC int LNW_Request_get_strategy(LNW_Request request, const char** name);

/** The request's plan on this rank as JSON text (docs/plans.md). Copies at most `size` characters including the final
 *  zero to `text`, and sets `*length` to the number without it. */
LNW_PUBLIC int LNW_Request_get_plan(LNW_Request request, char* text, MPI_Count size, MPI_Count* length);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
