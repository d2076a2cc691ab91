/** The neighborhood operations. Written by api/generate.py from api/operations.toml. */
#ifndef LANEWAY_NEIGHBORHOOD_H
#define LANEWAY_NEIGHBORHOOD_H

#include <laneway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/** Reductions over neighbors: the operations of the same arguments, with an operator. What arrives is combined with
 *  what is in `recvbuf`, recvbuf[place] = recvbuf[place] op arrived, so `recvbuf` must hold values before. A place may
 *  be named any number of times. All datatypes must be made of one predefined type to which `op` applies; with an
 *  operator of MPI_Op_create, all must be one datatype without gaps. The operator may be freed right after the call
 * (docs/reference/c.md). The result is the same in every run; operators that do not commute combine by rank, by edge
 * and by position in the edge. Under lnw_check, persistent ones name a rank whose operator or type differs. MPI_ERR_OP
 * for an operator that does not apply, MPI_ERR_TYPE for datatypes that cannot be combined.
 */
LNW_PUBLIC int LNW_Neighbor_reduce(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                   int recvcount, MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_reducev(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                    MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_reducew(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                    const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op, MPI_Comm comm);
/** @} */

/** @name Nonblocking operations
 *  As the MPI functions of the same name. Never blocks, but as below; LNW_Wait, LNW_Test and their forms for many
 * requests complete the request, free it and set it to LNW_REQUEST_NULL. Counts, displacements and datatypes may be
 * freed after the call. Ranks make these calls in the same order on one communicator, and complete them in any order.
 *
 *  Where this is the first call of this library on a communicator, the messages start in a later call of this library,
 *  and MPI_Comm_idup calls the copy functions of the communicator's attributes. With Open MPI, MPI's own function
 * carries it out instead, until a blocking or persistent call; reductions wait for all ranks there
 * (docs/reference/c.md).
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
LNW_PUBLIC int LNW_Ineighbor_reduce(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    int recvcount, MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm,
                                    LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_reducev(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                     MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_reducew(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                     const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op, MPI_Comm comm,
                                     LNW_Request* request);
/** @} */

/** @name Persistent operations
 *  As the MPI 4 functions of the same name. Collective, and synchronising: this is where the plan is made. Data that
 *  the send side names more than once (overlapping displacements, datatypes, indices) crosses between two nodes once.
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

/** LNW_Neighbor_alltoallv_init with index lists in place of displacements: gathers from and scatters to arbitrary
 * elements.
 *
 *  The k-th destination gets elements sendindices[i] of `sendbuf`, in that order, for the sendcounts[k] values of i
 *  after those of the destinations before it; likewise the k-th source's elements go to places recvindices[i] of
 *  `recvbuf`. Indices count in extents of the datatype, and may repeat on both sides: a repeated place takes the last
 *  value. They are checked against `sendsize` and `recvsize`, the number of elements in the buffers. The lists may be
 *  freed after the call. If both buffers are NULL, they are given later by LNW_Request_set_buffers, before the first
 *  start.
 */
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                                   const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                                   MPI_Count recvsize, const int recvcounts[],
                                                   const MPI_Count recvindices[], MPI_Datatype recvtype, MPI_Comm comm,
                                                   MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reduce_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        int recvcount, MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                        LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducev_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                         MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                         const int rdispls[], MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm,
                                         MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducew_init(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                         const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                         MPI_Comm comm, MPI_Info info, LNW_Request* request);

/** LNW_Neighbor_reducev_init with index lists, as those of LNW_Neighbor_alltoallv_init_indexed: with its two sides
 * exchanged, the lists of an exchange of values with neighbors give their sums back to who owns them. A repeated place
 * combines all values.
 */
LNW_PUBLIC int LNW_Neighbor_reducev_init_indexed(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                                 const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                                 MPI_Count recvsize, const int recvcounts[],
                                                 const MPI_Count recvindices[], MPI_Datatype recvtype, MPI_Op op,
                                                 MPI_Comm comm, MPI_Info info, LNW_Request* request);
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
LNW_PUBLIC int LNW_Neighbor_reduce_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_reducev_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                      MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm);
LNW_PUBLIC int LNW_Neighbor_reducew_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                      const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                      MPI_Comm comm);
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
LNW_PUBLIC int LNW_Ineighbor_reduce_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm,
                                      LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_reducev_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                       MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                       const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm,
                                       LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_reducew_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                       const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                       MPI_Comm comm, LNW_Request* request);
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
LNW_PUBLIC int LNW_Neighbor_reduce_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op,
                                          MPI_Comm comm, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducev_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                           MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                           const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm,
                                           MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducew_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                           const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                           MPI_Comm comm, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducev_init_indexed_c(const void* sendbuf, MPI_Count sendsize,
                                                   const MPI_Count sendcounts[], const MPI_Count sendindices[],
                                                   MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                   const MPI_Count recvcounts[], const MPI_Count recvindices[],
                                                   MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, MPI_Info info,
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
LNW_PUBLIC int LNW_Neighbor_reduce_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                            int recvcount, MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_reducev_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                             MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                             const int rdispls[], MPI_Datatype recvtype, MPI_Op op,
                                             LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_reducew_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                             const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                             const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
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
LNW_PUBLIC int LNW_Ineighbor_reduce_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                             int recvcount, MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                             LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_reducev_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                              MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                              const int rdispls[], MPI_Datatype recvtype, MPI_Op op,
                                              LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_reducew_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                              const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                              const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
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
LNW_PUBLIC int LNW_Neighbor_reduce_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                 void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Op op,
                                                 LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducev_init_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                  const int rdispls[], MPI_Datatype recvtype, MPI_Op op,
                                                  LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducew_init_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                                  LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducev_init_indexed_topology(const void* sendbuf, MPI_Count sendsize,
                                                          const int sendcounts[], const MPI_Count sendindices[],
                                                          MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                          const int recvcounts[], const MPI_Count recvindices[],
                                                          MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                                          MPI_Info info, LNW_Request* request);
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
LNW_PUBLIC int LNW_Neighbor_reduce_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op,
                                              LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_reducev_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                               const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                               const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                               MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology);
LNW_PUBLIC int LNW_Neighbor_reducew_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                                               const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                               const MPI_Datatype recvtypes[], MPI_Op op, LNW_Topology topology);
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
LNW_PUBLIC int LNW_Ineighbor_reduce_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op,
                                               LNW_Topology topology, LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_reducev_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                                LNW_Request* request);
LNW_PUBLIC int LNW_Ineighbor_reducew_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                                                const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                const MPI_Datatype recvtypes[], MPI_Op op, LNW_Topology topology,
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
LNW_PUBLIC int LNW_Neighbor_reduce_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                   void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op,
                                                   LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducev_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                    const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                    const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                    MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                                    MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducew_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                    void* recvbuf, const MPI_Count recvcounts[],
                                                    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                                    LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_reducev_init_indexed_topology_c(const void* sendbuf, MPI_Count sendsize,
                                                            const MPI_Count sendcounts[], const MPI_Count sendindices[],
                                                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                            const MPI_Count recvcounts[], const MPI_Count recvindices[],
                                                            MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                                            MPI_Info info, LNW_Request* request);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
