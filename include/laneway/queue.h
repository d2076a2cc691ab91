/** Queues: exchanges that a stream of a device, or an in-order queue of host tasks, starts and waits for. */
#ifndef LANEWAY_QUEUE_H
#define LANEWAY_QUEUE_H

#include <laneway/base.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A stream as this library uses it. */
typedef struct LNW_Queue_s* LNW_Queue;
#define LNW_QUEUE_NULL ((LNW_Queue)0)

/** What the stream is. */
#define LNW_QUEUE_HOST \
  1 /**< an in-order queue of host tasks, which a thread of this library runs; no stream is given */
#define LNW_QUEUE_CUDA 2 /**< a CUstream or cudaStream_t */
#define LNW_QUEUE_HIP 3  /**< a hipStream_t */
#define LNW_QUEUE_SIM 4  /**< a stream of the sim device */
/** Added to the kind: no thread of this library advances the queue. LNW_Queue_progress and LNW_Queue_wait do. */
#define LNW_QUEUE_PROGRESS_BY_HOST 16

/** In place of a number of requests: all that were started in the queue and not waited for in it. */
#define LNW_QUEUE_ALL_STARTED (-1)

/** @name Queues
 *  Any number of queues, and any persistent requests of this library in them: neighborhood, reducing, dense and
 *  partitioned ones. The stream writes a word, a thread of this library sees it and runs the exchange, and the stream
 *  waits for another word. Neither the host nor a thread of the driver waits, and no callback calls MPI.
 *
 *  A request that is enqueued belongs to the queue until LNW_Queue_wait has returned: no other queue takes it, and
 *  LNW_Start, LNW_Wait, LNW_Test, LNW_Request_free and the calls that change it fail with MPI_ERR_REQUEST. One that was
 *  enqueued while its stream recorded a graph belongs to the queue until that is freed.
 *
 *  One thread at a time may use a queue, as for streams. All calls but LNW_Queue_wait return at once.
 *  @{ */
/** `stream` of the kind; NULL is the vendor's default stream of the current device, and the only value for
 *  LNW_QUEUE_HOST. Local. MPI_ERR_ARG if the stream is not of the kind; MPI_ERR_UNSUPPORTED_OPERATION where the
 * vendor's driver is missing, or where MPI_THREAD_MULTIPLE is not provided and LNW_QUEUE_PROGRESS_BY_HOST is not given.
 */
LNW_PUBLIC int LNW_Queue_init(LNW_Queue* queue, int kind, void* stream);

/** The exchange begins when all that was put into the stream before is done. The request must be persistent and
 *  inactive. MPI_ERR_REQUEST if it is active, or in another queue; MPI_ERR_ARG if its buffers are on another device. */
LNW_PUBLIC int LNW_Enqueue_start(LNW_Queue queue, LNW_Request* request);
/** As LNW_Enqueue_start, of several requests: all begin together, by one word. */
LNW_PUBLIC int LNW_Enqueue_startall(LNW_Queue queue, int count, LNW_Request array_of_requests[]);
/** What is put into the stream afterwards, events included, comes after the exchange. The request must have been
 * started in this queue since it was waited for last. */
LNW_PUBLIC int LNW_Enqueue_wait(LNW_Queue queue, LNW_Request* request);
/** As LNW_Enqueue_wait, of several requests, by one word. `count` may be LNW_QUEUE_ALL_STARTED; then the array is
 * ignored. Null requests are. */
LNW_PUBLIC int LNW_Enqueue_waitall(LNW_Queue queue, int count, LNW_Request array_of_requests[]);
/** As LNW_Pready when all that was put into the stream before is done. */
LNW_PUBLIC int LNW_Enqueue_ready(LNW_Queue queue, LNW_Request request, int partition);
/** As LNW_Pready_edge when all that was put into the stream before is done. */
LNW_PUBLIC int LNW_Enqueue_ready_edge(LNW_Queue queue, LNW_Request request, int edge, int partition);
/** Calls function(argument) when all that was put into the stream before is done, and holds the stream until it
 * returns. The function must not call this library, MPI or the device. */
LNW_PUBLIC int LNW_Enqueue_call(LNW_Queue queue, void (*function)(void*), void* argument);

/** Matches requests that were made by local calls, as proposals for streams have it. Requests of this library need
 * none: looks at the arguments, and returns at once. */
LNW_PUBLIC int LNW_Match(int count, LNW_Request array_of_requests[]);

/** Returns when all that is in the queue and its stream is done. Requests that were started and not waited for are
 *  complete, too. Returns the error of the first exchange that has failed since the last call. */
LNW_PUBLIC int LNW_Queue_wait(LNW_Queue queue);
/** Advances a queue once. `*flag` (may be NULL) is true if nothing of it is left to be done. */
LNW_PUBLIC int LNW_Queue_progress(LNW_Queue queue, int* flag);
/** Frees a queue in which nothing is left to be done, and sets it to LNW_QUEUE_NULL; an error otherwise. The stream
 *  remains the user's, and graphs that it has recorded must not be launched again. */
LNW_PUBLIC int LNW_Queue_free(LNW_Queue* queue);

/** Since the queue was made. */
typedef struct LNW_Queue_statistics {
  MPI_Count exchanges;   /**< started */
  MPI_Count triggers;    /**< words that the stream was told to write, of recorded graphs once */
  MPI_Count completions; /**< words that the stream was told to wait for, likewise */
  MPI_Count unfinished;  /**< of what was enqueued */
} LNW_Queue_statistics;

/** What has been put into the queue. `size` is how much of the structure the caller knows, as in
 * LNW_Request_get_statistics_sized. */
LNW_PUBLIC int LNW_Queue_get_statistics_sized(LNW_Queue queue, size_t size, LNW_Queue_statistics* statistics);
#define LNW_Queue_get_statistics(queue, statistics) \
  LNW_Queue_get_statistics_sized(queue, sizeof(LNW_Queue_statistics), statistics)
/** @} */

#ifdef __cplusplus
}
#endif

#endif
