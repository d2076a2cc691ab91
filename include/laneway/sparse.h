/** Partners that only one side knows: sparse exchanges, requests and answers, topologies from one side. */
#ifndef LANEWAY_SPARSE_H
#define LANEWAY_SPARSE_H

#include <laneway/base.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What has arrived in a sparse exchange. */
typedef struct LNW_Arrivals_s* LNW_Arrivals;
#define LNW_ARRIVALS_NULL ((LNW_Arrivals)0)

/** @name Sparse exchanges
 *  Collective over `comm`. Each rank says to whom it sends; whoever gets something learns from whom. `destinations` may
 *  name a rank several times, this rank, or MPI_PROC_NULL, which gets nothing; counts may be 0, and also then the
 *  destination gets an entry. Ranks need not send or get anything. Buffers are in the memory of the host. Datatypes
 *  must have the same size on all ranks.
 *
 *  No rank waits for more than that it has heard all that is said to it. Rounds do not mix, also where several are
 * under way at once; they use no tags of the program. The first call on a communicator lets all ranks meet. The hint
 * `lnw_find` says how partners are found (docs/use/discovery.md).
 *
 *  Where the arguments of one rank are bad, all ranks get an error: that rank's names the argument, the others' the
 * rank. Where the calls, the number of sets, the size of a datatype, `sendcount` or the hint differ between ranks, all
 * get MPI_ERR_ARG.
 *  @{ */
/** `sendcount` elements to each destination, block i from element i * sendcount of `sendbuf`. Of equal count on all
 *  ranks. */
LNW_PUBLIC int LNW_Sparse_alltoall(int ndestinations, const int destinations[], const void* sendbuf, int sendcount,
                                   MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals);
LNW_PUBLIC int LNW_Sparse_alltoall_c(int ndestinations, const int destinations[], const void* sendbuf,
                                     MPI_Count sendcount, MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info,
                                     LNW_Arrivals* arrivals);
/** `sendcounts[i]` elements from element `sdispls[i]` of `sendbuf` to `destinations[i]`. */
LNW_PUBLIC int LNW_Sparse_alltoallv(int ndestinations, const int destinations[], const void* sendbuf,
                                    const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, MPI_Comm comm,
                                    MPI_Info info, LNW_Arrivals* arrivals);
LNW_PUBLIC int LNW_Sparse_alltoallv_c(int ndestinations, const int destinations[], const void* sendbuf,
                                      const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                      MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals);

/** The arguments of one exchange among several. */
typedef struct LNW_Sparse_set {
  int ndestinations;
  const int* destinations;
  const void* sendbuf;
  const int* sendcounts;
  const int* sdispls;
  MPI_Datatype sendtype;
} LNW_Sparse_set;

/** Several exchanges in one round, of equally many sets on all ranks: messages to one destination travel together.
 *  `arrivals` gets a handle for each set. */
LNW_PUBLIC int LNW_Sparse_alltoallv_sets(int nsets, const LNW_Sparse_set sets[], MPI_Comm comm, MPI_Info info,
                                         LNW_Arrivals arrivals[]);

/** As LNW_Sparse_alltoall, nonblocking: `*arrivals` is set by the call that completes the request; the arguments are no
 * longer needed when the function returns. */
LNW_PUBLIC int LNW_Isparse_alltoall(int ndestinations, const int destinations[], const void* sendbuf, int sendcount,
                                    MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals,
                                    LNW_Request* request);
LNW_PUBLIC int LNW_Isparse_alltoall_c(int ndestinations, const int destinations[], const void* sendbuf,
                                      MPI_Count sendcount, MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info,
                                      LNW_Arrivals* arrivals, LNW_Request* request);
/** As LNW_Sparse_alltoallv, nonblocking in the same way. */
LNW_PUBLIC int LNW_Isparse_alltoallv(int ndestinations, const int destinations[], const void* sendbuf,
                                     const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, MPI_Comm comm,
                                     MPI_Info info, LNW_Arrivals* arrivals, LNW_Request* request);
LNW_PUBLIC int LNW_Isparse_alltoallv_c(int ndestinations, const int destinations[], const void* sendbuf,
                                       const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                       MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals, LNW_Request* request);
/** @} */

/** @name Requests and answers
 *  @{ */
/** Where a target puts its answer. */
typedef struct LNW_Answer_s* LNW_Answer;
/** Called on a target for each request, which need not be aligned, in the thread that is in LNW_Sparse_query. It may
 * call LNW_Answer_append, and no other function of this library. Returns MPI_SUCCESS; otherwise LNW_Sparse_query is an
 *  error here and on the rank that asks. */
typedef int LNW_Answer_function(int source, const void* request, MPI_Count bytes, void* extra_state, LNW_Answer answer);
/** Appends to the answer; without it, the answer is empty. Local. */
LNW_PUBLIC int LNW_Answer_append(LNW_Answer answer, const void* data, MPI_Count bytes);
/** As LNW_Sparse_alltoallv; each target answers as soon as a request arrives. `answers` has an entry of bytes for each
 *  request, in the order of `destinations`. */
LNW_PUBLIC int LNW_Sparse_query(int ndestinations, const int destinations[], const void* sendbuf,
                                const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                LNW_Answer_function* answer_function, void* extra_state, MPI_Comm comm, MPI_Info info,
                                LNW_Arrivals* answers);
LNW_PUBLIC int LNW_Sparse_query_c(int ndestinations, const int destinations[], const void* sendbuf,
                                  const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                  LNW_Answer_function* answer_function, void* extra_state, MPI_Comm comm, MPI_Info info,
                                  LNW_Arrivals* answers);
/** @} */

/** @name What has arrived
 *  Local. Pointers are valid until the handle is freed. Entries are in ascending order of sources; those of one source
 * in the order in which it gave them.
 *  @{ */
/** How many entries there are. */
LNW_PUBLIC int LNW_Arrivals_get_count(LNW_Arrivals arrivals, int* nsources);
/** For each entry its source, how many elements came, and where they begin, in elements from the beginning of the data.
 *  Each of the last three may be NULL. */
LNW_PUBLIC int LNW_Arrivals_get_sources(LNW_Arrivals arrivals, const int** sources, const MPI_Count** counts,
                                        const MPI_Count** offsets);
/** All elements in one piece, without gaps, in the order of the entries. `*bytes` is their length. The data may be
 *  changed. */
LNW_PUBLIC int LNW_Arrivals_get_data(LNW_Arrivals arrivals, void** data, MPI_Count* bytes);
/** Copies into the caller's memory: up to `maxsources` entries, and all elements to `recvbuf`, which holds `recvcount`
 * of `recvtype`, a datatype of the size that the senders' has. MPI_ERR_TRUNCATE or MPI_ERR_TYPE where they do not fit;
 *  nothing is written or lost then. Each array may be NULL. */
LNW_PUBLIC int LNW_Arrivals_copy(LNW_Arrivals arrivals, int maxsources, int sources[], MPI_Count recvcounts[],
                                 MPI_Count rdispls[], void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype);
/** How partners were found, in a new info object that the caller frees: `lnw_find`, the finder; `lnw_messages`,
 * messages that this rank has sent; where the finder was chosen, `lnw_parameters` and for each candidate
 * `lnw_find_cost_NAME`, predicted seconds. */
LNW_PUBLIC int LNW_Arrivals_get_info(LNW_Arrivals arrivals, MPI_Info* info);
/** Sets the handle to LNW_ARRIVALS_NULL. */
LNW_PUBLIC int LNW_Arrivals_free(LNW_Arrivals* arrivals);
/** @} */

/** @name Topologies from one side
 *  The order of neighbours that the other side has found is ascending; parallel edges are in the order in which they
 *  were given.
 *  @{ */
/** Local; all ranks call it, in the same order. From each source that is in `arrivals` and to each destination of that
 *  exchange, as often as it was named. Operations on it plan in their own calls; hints in `info` hold for all of them.
 */
LNW_PUBLIC int LNW_Topology_from_arrivals(LNW_Arrivals arrivals, MPI_Info info, LNW_Topology* topology);
/** As LNW_Topology_from_arrivals, with all edges turned around: from the destinations of the exchange to its sources,
 * as where ranks have asked others for what they now get again and again. */
LNW_PUBLIC int LNW_Topology_from_arrivals_reversed(LNW_Arrivals arrivals, MPI_Info info, LNW_Topology* topology);
/** Collective. `destweights`, or MPI_UNWEIGHTED on all ranks, arrive at the other side: with `arrivals` not NULL there
 *  is a handle of an int for each source. */
LNW_PUBLIC int LNW_Topology_create_from_destinations(MPI_Comm comm, int outdegree, const int destinations[],
                                                     const int* destweights, MPI_Info info, LNW_Topology* topology,
                                                     LNW_Arrivals* arrivals);
/** As LNW_Topology_create_from_destinations, from the ranks that this one needs something from; `arrivals` says for
 * each destination what it has given this rank as a weight. */
LNW_PUBLIC int LNW_Topology_create_from_sources(MPI_Comm comm, int indegree, const int sources[],
                                                const int* sourceweights, MPI_Info info, LNW_Topology* topology,
                                                LNW_Arrivals* arrivals);
/** As MPI_Dist_graph_create: each rank may say any edges. `weights` is MPI_UNWEIGHTED on all ranks or on none. */
LNW_PUBLIC int LNW_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                                     const int destinations[], const int* weights, MPI_Info info, int reorder,
                                     MPI_Comm* comm_dist_graph);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
