/** Requests: starting, testing, waiting, and what they tell of themselves. */
#ifndef LANEWAY_REQUESTS_H
#define LANEWAY_REQUESTS_H

#include <laneway/base.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Requests
 *  Local. Start returns without waiting for anything; the send buffer must not be written and the receive buffer not
 *  accessed until the exchange is complete. Several requests may be active, started and completed in different orders
 * on different ranks. Every function of this library advances all active requests of the process that relay, or for
 *  which functions are called; those that test or wait for an active request advance all.
 *
 *  A request that a function finds complete becomes inactive if it is persistent, and is freed and set to
 * LNW_REQUEST_NULL if it is nonblocking.
 *
 *  A strategy other than `direct` relays data over other ranks. Between LNW_Start and completion a rank that waits in a
 *  call of MPI goes on relaying: its MPI library's progress engine calls this one, or a thread does the work. Where
 * some rank has neither, nothing is relayed, unless the hint lnw_progress=wait promises that no rank waits elsewhere
 * for what depends on another rank's completion (docs/reference/c.md, Progress).
 *  @{ */
/** Begins an exchange. The request must be persistent and inactive. */
LNW_PUBLIC int LNW_Start(LNW_Request* request);
/** As LNW_Start, of several requests. */
LNW_PUBLIC int LNW_Startall(int count, LNW_Request array_of_requests[]);
/** `*flag` is true if the exchange is complete, or the request is inactive or null. `status` (may be
 *  MPI_STATUS_IGNORE) is set empty. */
LNW_PUBLIC int LNW_Test(LNW_Request* request, int* flag, MPI_Status* status);
/** Returns when the exchange is complete, at once if the request is inactive or null. `status` as of LNW_Test. */
LNW_PUBLIC int LNW_Wait(LNW_Request* request, MPI_Status* status);
/** @name For many requests
 *  As the MPI functions of the same name. Null and inactive requests are ignored; `index` and `outcount` are
 *  MPI_UNDEFINED where no request is active.
 *  @{ */
/** `*flag` is true if all are complete; otherwise no request is changed. */
LNW_PUBLIC int LNW_Testall(int count, LNW_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]);
/** Returns when all are complete. */
LNW_PUBLIC int LNW_Waitall(int count, LNW_Request array_of_requests[], MPI_Status array_of_statuses[]);
/** `*flag` is true if one is complete, or none is active; `*index` says which. */
LNW_PUBLIC int LNW_Testany(int count, LNW_Request array_of_requests[], int* index, int* flag, MPI_Status* status);
/** Returns when one is complete; `*index` says which. */
LNW_PUBLIC int LNW_Waitany(int count, LNW_Request array_of_requests[], int* index, MPI_Status* status);
/** Which are complete, be it none. */
LNW_PUBLIC int LNW_Testsome(int incount, LNW_Request array_of_requests[], int* outcount, int array_of_indices[],
                            MPI_Status array_of_statuses[]);
/** Returns when at least one is complete, and says which are. */
LNW_PUBLIC int LNW_Waitsome(int incount, LNW_Request array_of_requests[], int* outcount, int array_of_indices[],
                            MPI_Status array_of_statuses[]);
/** @} */
/** Frees an inactive request and sets it to LNW_REQUEST_NULL; an active one is an error. */
LNW_PUBLIC int LNW_Request_free(LNW_Request* request);

/** Called with MPI_SUCCESS, or the error code of the operation that has failed, and what the program has given for it.
 */
typedef void LNW_Completion_function(int code, void* state);

/** From now on `function` is called with `state` each time that an exchange of the request is complete or has failed;
 *  NULL: none. The request must be inactive, or nonblocking, active and without a function.
 *
 *  Whoever advances exchanges calls it: a thread in a function of this library that tests or waits, in one of MPI whose
 *  progress engine calls this library, or under lnw_progress=thread the progress thread. Once for each start, never by
 *  the thread that is in the LNW_Start or LNW_Startall of the request, and by one thread at a time. The request stays
 *  active until LNW_Wait or another function completes it, which gives the same error; where it is enqueued, the queue
 *  does so.
 *
 *  The function may use other requests, start and complete them too, and call MPI as far as that allows where it was
 *  called. To start, complete, change or free the request itself is MPI_ERR_REQUEST; its partitions may be made ready
 *  and looked for. It must not throw, nor wait for what depends on an end of this request that others see. The source
 *  of these rules is the MPI Forum's proposal of continuations. Local.
 */
LNW_PUBLIC int LNW_Request_on_complete(LNW_Request request, LNW_Completion_function* function, void* state);

/** Binds an inactive persistent request to other buffers of the same layout: offsets, counts and types stay. */
LNW_PUBLIC int LNW_Request_set_buffers(LNW_Request request, const void* sendbuf, void* recvbuf);

/** Makes a persistent operation again, with the arguments and hints of the call that has made `request` and the buffers
 *  that it has now, among those of its ranks that `comm` has: all that are left after one has died
 *  (MPIX_Comm_shrink), or any others of them, in any order. Streams and functions are set anew. `request` stays, to be
 *  freed; it must not be active, and may have failed. Its communicator may be revoked or freed, and is not communicated
 *  on.
 *
 *  - Neighborhoods become those of LNW_Topology_shrink, whatever topology `comm` has: buffers keep their layout.
 *  - Dense operations: the block of a rank that is left stays where it is in the buffers, the others are not touched.
 *    Counts and displacements are those of the ranks that are left; alltoall, allgather, gather and scatter become the
 *    forms with displacements unless the ranks that are gone were the last ones. A root has its new rank. MPI_ERR_RANK
 *    where the root is gone; MPI_ERR_UNSUPPORTED_OPERATION for reduce_scatter and reduce_scatter_block, which have one
 *    vector for all ranks, unless the last ranks are gone.
 *  - Partitioned requests of two ranks: local, for these two; where the other is gone, with MPI_PROC_NULL.
 *  - MPI_ERR_UNSUPPORTED_OPERATION for operations between two groups.
 *
 *  But for partitioned ones, collective over `comm`, and synchronising: all its ranks give requests that one call has
 *  made. MPI_ERR_REQUEST if some rank's request is active, nonblocking or of another operation, on all ranks of `comm`.
 *  MPI_ERR_COMM if `comm` has a process that the request's communicator has not, at once and on this rank alone. Ranks
 *  that give other communicators otherwise wait for each other, as in calls of MPI. */
LNW_PUBLIC int LNW_Request_rebuild(LNW_Request request, MPI_Comm comm, LNW_Request* rebuilt);
/** The same of a neighborhood operation on a topology that is there, whose hints hold: that of LNW_Topology_shrink,
 * once for all requests, or another with as many neighbours. Collective over the topology. MPI_ERR_TOPOLOGY where it
 * has another number of them, MPI_ERR_REQUEST of a request that is of no neighborhood operation, on all ranks. */
LNW_PUBLIC int LNW_Request_rebuild_topology(LNW_Request request, LNW_Topology topology, LNW_Request* rebuilt);

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

/** Returns when all that is in a stream of the device that holds `buffer` is complete: for operations that no stream
 * orders, which are the blocking, the nonblocking and the dense ones. `stream` is as of LNW_Request_set_stream; nothing
 * is waited for where it is LNW_STREAM_NONE. Where `buffer` is in the host's memory, or NULL, the stream tells which
 * device is meant. Local. MPI_ERR_ARG if the stream is of another device than the buffer, or is recording a graph;
 * errors go to the error handler of MPI_COMM_WORLD.
 */
LNW_PUBLIC int LNW_Stream_synchronize(const void* buffer, void* stream);

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
  MPI_Count metadata_bytes; /**< and for its plan, copy programs, tables and copies of its arguments */
} LNW_Request_statistics;

/** What this rank does in one exchange of a persistent request. Later versions may append members to the structure:
 * `size` is how much of it the caller knows, sizeof(LNW_Request_statistics). No more is written, and what this library
 * does not know is set to zero. */
LNW_PUBLIC int LNW_Request_get_statistics_sized(LNW_Request request, size_t size, LNW_Request_statistics* statistics);
/** The same. The function of this name, which programs built with earlier headers call, fills the members up to
 *  `metadata_bytes`. */
LNW_PUBLIC int LNW_Request_get_statistics(LNW_Request request, LNW_Request_statistics* statistics);
#define LNW_Request_get_statistics(request, statistics) \
  LNW_Request_get_statistics_sized(request, sizeof(LNW_Request_statistics), statistics)

/**
 * How the strategy of a request was chosen, in a new info object that the caller frees:
 *
 * - `lnw_strategy`: the one that is used; `mpi`: MPI's own function carries the operation out, and `lnw_reason` says
 * why;
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

/** The request's plan on this rank as JSON text (docs/reference/plans.md). Copies at most `size` characters including
 * the final zero to `text`, and sets `*length` to the number without it. */
LNW_PUBLIC int LNW_Request_get_plan(LNW_Request request, char* text, MPI_Count size, MPI_Count* length);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
