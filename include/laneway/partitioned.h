/** Partitioned communication: data that leaves when it is ready, between two ranks and between neighbours. */
#ifndef LANEWAY_PARTITIONED_H
#define LANEWAY_PARTITIONED_H

#include <laneway/device_ready.h>
#include <laneway/requests.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Partitioned messages between two ranks
 *  As the functions of MPI 4 of the same names, also where the MPI library has none. The requests are persistent
 * requests of this library: LNW_Start, LNW_Wait, LNW_Test, LNW_Request_free and those for several work on them.
 *
 *  The n-th LNW_Psend_init to a rank with a tag belongs to the n-th LNW_Precv_init from the sender with this tag. Both
 * have equally many bytes, in partitions of their own number and size; if not, the exchange fails on both sides with
 * MPI_ERR_COUNT. The init calls are local; see LNW_Comm_prepare for the first one on a communicator. `peer` may be
 * MPI_PROC_NULL.
 *
 *  Several partitions may share a message; the hint `lnw_partition_message` says up to which size.
 *  @{ */
/** `partitions` partitions of `count` elements each, one after the other from `buf`. */
LNW_PUBLIC int LNW_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                              int tag, MPI_Comm comm, MPI_Info info, LNW_Request* request);
/** The status of a complete exchange has the sender, the tag and the number of bytes. */
LNW_PUBLIC int LNW_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                              MPI_Comm comm, MPI_Info info, LNW_Request* request);

/** Partition `partition` may be sent, and must not be written again before the exchange is complete. The request must
 *  be active. By any thread as far as the MPI library's thread level allows, several at the same time. Each partition
 *  becomes ready once in an exchange: MPI_ERR_ARG the second time. */
LNW_PUBLIC int LNW_Pready(int partition, LNW_Request request);
/** As LNW_Pready, for partitions [partition_low, partition_high]. */
LNW_PUBLIC int LNW_Pready_range(int partition_low, int partition_high, LNW_Request request);
/** As LNW_Pready, for `length` partitions. */
LNW_PUBLIC int LNW_Pready_list(int length, const int array_of_partitions[], LNW_Request request);

/** A word that stands for LNW_Pready of a partition, for kernels: whoever writes 1 there, when the partition's data is
 *  visible to the host and the device's other streams, makes it ready. lnw_pready_word of <laneway/device_ready.h> does
 *  both. Once in an exchange; written before LNW_Start, it counts for the exchange that is started then. This library
 *  sets it back. LNW_Start, LNW_Test, LNW_Wait and all other calls that advance exchanges look at the words of requests
 *  that are active, and so do queues and the progress thread where there are some.
 *
 *  The words are in memory that the host and the devices of the buffer's vendor reach, or, where no device plugin is
 *  loaded, in the host's. That of the next partition is LNW_PREADY_STRIDE words behind. They live as long as the
 *  request, and stay where they are. The first call for a request needs it inactive, and without functions that are
 *  called for it. LNW_Pready may be called for others of its partitions. */
LNW_PUBLIC int LNW_Pready_word(LNW_Request request, int partition, uint64_t** word);

/** Whether the receiver's partition has arrived in the exchange that was started last; true where the request is
 *  inactive or null. By any thread, as LNW_Pready. */
LNW_PUBLIC int LNW_Parrived(LNW_Request request, int partition, int* flag);
/** @} */

/** @name Partitioned neighborhoods
 *  Persistent neighborhood operations whose blocks become ready, and arrive, in parts. Partition p of the P of an edge
 * with n elements is its elements [n p / P, n (p + 1) / P), in the order of the operation. The numbers on the two sides
 * of an edge may differ. A block of 0 partitions is ready when the exchange starts.
 *
 *  A message leaves when all that is in it is ready, on whatever way it goes. A byte that several partitions name is
 * ready with the first of them that is: it must be there by then, and must not be written again before the exchange is
 * complete. Whoever relays it does so as without partitions.
 *  @{ */
/** As LNW_Neighbor_alltoallv_init; `sendpartitions` has a number for each destination, `recvpartitions` for each
 *  source. Collective. The forms `_topology` take a topology object, those with `_c` counts of MPI_Count and
 *  displacements of MPI_Aint. */
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_partitioned(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                       MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                       const int rdispls[], MPI_Datatype recvtype,
                                                       const int sendpartitions[], const int recvpartitions[],
                                                       MPI_Comm comm, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_partitioned_topology(
    const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
    const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, const int sendpartitions[],
    const int recvpartitions[], LNW_Topology topology, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_partitioned_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                         const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                         const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                         MPI_Datatype recvtype, const int sendpartitions[],
                                                         const int recvpartitions[], MPI_Comm comm, MPI_Info info,
                                                         LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_partitioned_topology_c(
    const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
    const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, const int sendpartitions[],
    const int recvpartitions[], LNW_Topology topology, MPI_Info info, LNW_Request* request);
/** As LNW_Neighbor_alltoallv_init_indexed; partitions as of LNW_Neighbor_alltoallv_init_partitioned. Collective. */
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed_partitioned(const void* sendbuf, MPI_Count sendsize,
                                                               const int sendcounts[], const MPI_Count sendindices[],
                                                               MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                               const int recvcounts[], const MPI_Count recvindices[],
                                                               MPI_Datatype recvtype, const int sendpartitions[],
                                                               const int recvpartitions[], MPI_Comm comm, MPI_Info info,
                                                               LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed_partitioned_topology(
    const void* sendbuf, MPI_Count sendsize, const int sendcounts[], const MPI_Count sendindices[],
    MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize, const int recvcounts[], const MPI_Count recvindices[],
    MPI_Datatype recvtype, const int sendpartitions[], const int recvpartitions[], LNW_Topology topology, MPI_Info info,
    LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed_partitioned_c(
    const void* sendbuf, MPI_Count sendsize, const MPI_Count sendcounts[], const MPI_Count sendindices[],
    MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize, const MPI_Count recvcounts[],
    const MPI_Count recvindices[], MPI_Datatype recvtype, const int sendpartitions[], const int recvpartitions[],
    MPI_Comm comm, MPI_Info info, LNW_Request* request);
LNW_PUBLIC int LNW_Neighbor_alltoallv_init_indexed_partitioned_topology_c(
    const void* sendbuf, MPI_Count sendsize, const MPI_Count sendcounts[], const MPI_Count sendindices[],
    MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize, const MPI_Count recvcounts[],
    const MPI_Count recvindices[], MPI_Datatype recvtype, const int sendpartitions[], const int recvpartitions[],
    LNW_Topology topology, MPI_Info info, LNW_Request* request);

/** As LNW_Pready: `partition` of the block for the destination at position `edge` of the arguments. */
LNW_PUBLIC int LNW_Pready_edge(LNW_Request request, int edge, int partition);
/** As LNW_Pready_word: of `partition` of the block for the destination at position `edge` of the arguments. Words of
 * the next edge's partitions follow those of the one before. */
LNW_PUBLIC int LNW_Pready_edge_word(LNW_Request request, int edge, int partition, uint64_t** word);
/** As LNW_Parrived: `partition` of the block from the source at position `edge` of the arguments. */
LNW_PUBLIC int LNW_Parrived_edge(LNW_Request request, int edge, int partition, int* flag);

/** Returns when a partition has arrived that these functions have not given since LNW_Start, whatever LNW_Parrived_edge
 *  has said, and sets `edge` and `partition` to it: any of those that have come. MPI_UNDEFINED where all have been
 *  given, and where the request is inactive or null; a block of 0 partitions is not given. `*flag` is true in these
 *  cases, too. To use each block as it comes, `recvpartitions` are 1. The request stays active. An exchange that has
 *  failed gives its error, and the request is then inactive. By one thread at a time. */
LNW_PUBLIC int LNW_Wait_any_edge(LNW_Request request, int* edge, int* partition);
LNW_PUBLIC int LNW_Test_any_edge(LNW_Request request, int* edge, int* partition, int* flag);
/** As LNW_Request_on_complete, when the partition has arrived: once in each exchange, before the function of the
 *  request's end. Those of an exchange that fails before are called with its error code. Of a request made by
 *  LNW_Precv_init `edge` is 0. Setting it again replaces it. */
LNW_PUBLIC int LNW_Request_on_arrival(LNW_Request request, int edge, int partition, LNW_Completion_function* function,
                                      void* state);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
