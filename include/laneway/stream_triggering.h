/** MPI Advance's names for exchanges that streams start, over Laneway: programs written for its stream-triggering.h
 *  compile with this header in its place. Not in laneway.h. Any number of queues may be active, and one word starts all
 *  requests of MPIS_Enqueue_startall. Matching calls return at once: nothing has to be matched before.
 *
 *  A message has as many bytes on both sides. Messages match those of this header alone, in the order of the init calls
 *  of one tag. Queues need MPI_THREAD_MULTIPLE. */
#ifndef LANEWAY_STREAM_TRIGGERING_H
#define LANEWAY_STREAM_TRIGGERING_H

#include <laneway/laneway.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MPIS_SUCCESS = 0, MPIS_NOT_READY = -1, MPIS_INVALID_REQUEST_STATE = -2, MPIS_UNSUPPORTED_BEHAVIOR = -3 };

/** GPU_MEM_OPS and CXI are the stream of the device whose plugin is loaded. */
typedef enum MPIS_Queue_type { THREAD = 0, GPU_MEM_OPS = 3, CXI = 4 } MPIS_Queue_type;
typedef uintptr_t MPIS_Queue;

typedef struct MPIS_Request_struct {
  LNW_Request request; /* LNW_REQUEST_NULL: of MPIS_Imatch, complete from the beginning */
  LNW_Queue queue;     /* where it was started last */
} * MPIS_Request;

static inline int lnw_mpis_code(int code) {
  int kind = code;
  if (code == MPI_SUCCESS) return MPIS_SUCCESS;
  MPI_Error_class(code, &kind);
  return kind == MPI_ERR_REQUEST ? MPIS_INVALID_REQUEST_STATE : code;
}

static inline LNW_Queue lnw_mpis_queue(MPIS_Queue queue) {
  return (LNW_Queue)queue;
}

/** `stream_address` is where the stream is: a cudaStream_t*, hipStream_t* or the sim device's. */
static inline int MPIS_Queue_init(MPIS_Queue* queue, MPIS_Queue_type type, void* stream_address) {
  const int device_kinds[] = {LNW_QUEUE_CUDA, LNW_QUEUE_HIP, LNW_QUEUE_SIM};
  LNW_Queue made = LNW_QUEUE_NULL;
  MPI_Errhandler before;
  int i, code = MPI_SUCCESS;
  if (queue == NULL) return MPI_ERR_ARG;
  if (type == THREAD) {
    code = LNW_Queue_init(&made, LNW_QUEUE_HOST, NULL);
  } else {
    void* const stream = stream_address != NULL ? *(void**)stream_address : NULL;
    /* The kinds whose plugin is not loaded are errors that nobody needs to hear of. */
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (i = 0; i < 3; ++i) {
      code = LNW_Queue_init(&made, device_kinds[i], stream);
      if (code == MPI_SUCCESS) break;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
    if (code != MPI_SUCCESS) return MPIS_UNSUPPORTED_BEHAVIOR;
  }
  *queue = (MPIS_Queue)made;
  return lnw_mpis_code(code);
}

static inline int MPIS_Queue_free(MPIS_Queue* queue) {
  LNW_Queue made = lnw_mpis_queue(*queue);
  int code = LNW_Queue_wait(made);
  if (code == MPI_SUCCESS) code = LNW_Queue_free(&made);
  if (code == MPI_SUCCESS) *queue = 0;
  return lnw_mpis_code(code);
}

static inline int MPIS_Queue_wait(MPIS_Queue queue) {
  return lnw_mpis_code(LNW_Queue_wait(lnw_mpis_queue(queue)));
}

/** One trigger, whatever the number of requests. */
static inline int MPIS_Enqueue_startall(MPIS_Queue queue, int count, MPIS_Request requests[]) {
  LNW_Request few[16];
  LNW_Request* all = few;
  int i, code;
  if (count > 16) all = (LNW_Request*)malloc((size_t)count * sizeof *all);
  if (all == NULL) return MPI_ERR_NO_MEM;
  for (i = 0; i < count; ++i) all[i] = requests[i]->request;
  code = LNW_Enqueue_startall(lnw_mpis_queue(queue), count, all);
  for (i = 0; i < count && code == MPI_SUCCESS; ++i) requests[i]->queue = lnw_mpis_queue(queue);
  if (all != few) free(all);
  return lnw_mpis_code(code);
}

static inline int MPIS_Enqueue_start(MPIS_Queue queue, MPIS_Request* request) {
  return MPIS_Enqueue_startall(queue, 1, request);
}

static inline int MPIS_Enqueue_waitall(MPIS_Queue queue) {
  return lnw_mpis_code(LNW_Enqueue_waitall(lnw_mpis_queue(queue), LNW_QUEUE_ALL_STARTED, NULL));
}

static inline void lnw_mpis_empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
}

static inline int MPIS_Match(MPIS_Request* request, MPI_Status* status) {
  LNW_Request one = (*request)->request;
  lnw_mpis_empty(status);
  return lnw_mpis_code(LNW_Match(1, &one));
}

static inline int MPIS_Matchall(int count, MPIS_Request requests[], MPI_Status statuses[]) {
  int i, code = MPIS_SUCCESS;
  for (i = 0; i < count && code == MPIS_SUCCESS; ++i)
    code = MPIS_Match(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
  return code;
}

/** `*match` is complete, and freed by MPIS_Wait. */
static inline int MPIS_Imatch(MPIS_Request* request, MPIS_Request* match) {
  (void)request;
  *match = (MPIS_Request)calloc(1, sizeof **match);
  return *match == NULL ? MPI_ERR_NO_MEM : MPIS_SUCCESS;
}

static inline int MPIS_Is_matched(MPIS_Request* request, int* flag) {
  (void)request;
  *flag = 1;
  return MPIS_SUCCESS;
}

static inline int MPIS_Queue_match(MPIS_Queue queue, MPIS_Request* request, MPI_Status* status) {
  (void)queue;
  return MPIS_Match(request, status);
}

static inline int lnw_mpis_made(int code, const LNW_Request* request, MPIS_Request* made) {
  if (code != MPI_SUCCESS) return lnw_mpis_code(code);
  *made = (MPIS_Request)calloc(1, sizeof **made);
  if (*made == NULL) return MPI_ERR_NO_MEM;
  (*made)->request = *request;
  return MPIS_SUCCESS;
}

/** A message is one partition, ready when it is started. */
static inline int MPIS_Send_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                 MPI_Comm comm, MPI_Info info, MPIS_Request* request) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = info == MPI_INFO_NULL ? MPI_Info_create(&hints) : MPI_Info_dup(info, &hints);
  if (code != MPI_SUCCESS) return lnw_mpis_code(code);
  MPI_Info_set(hints, "lnw_ready_at_start", "true");
  code = LNW_Psend_init(buf, 1, count, datatype, dest, tag, comm, hints, &made);
  MPI_Info_free(&hints);
  return lnw_mpis_made(code, &made, request);
}

/** No receive has to be there before. */
static inline int MPIS_Rsend_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                  MPI_Comm comm, MPI_Info info, MPIS_Request* request) {
  return MPIS_Send_init(buf, count, datatype, dest, tag, comm, info, request);
}

static inline int MPIS_Recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                 MPI_Info info, MPIS_Request* request) {
  LNW_Request made = LNW_REQUEST_NULL;
  return lnw_mpis_made(LNW_Precv_init(buf, 1, count, datatype, source, tag, comm, info, &made), &made, request);
}

static inline int MPIS_Barrier_init(MPI_Comm comm, MPI_Info info, MPIS_Request* request) {
  LNW_Request made = LNW_REQUEST_NULL;
  return lnw_mpis_made(LNW_Barrier_init(comm, info, &made), &made, request);
}

static inline int MPIS_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                      MPI_Comm comm, MPI_Info info, MPIS_Request* request) {
  LNW_Request made = LNW_REQUEST_NULL;
  return lnw_mpis_made(LNW_Allreduce_init(sendbuf, recvbuf, count, datatype, op, comm, info, &made), &made, request);
}

/** By the host: also for what else is in the request's queue. */
static inline int MPIS_Wait(MPIS_Request* request, MPI_Status* status) {
  lnw_mpis_empty(status);
  if ((*request)->request == LNW_REQUEST_NULL) {
    free(*request);
    *request = NULL;
    return MPIS_SUCCESS;
  }
  return (*request)->queue == LNW_QUEUE_NULL ? MPIS_SUCCESS : lnw_mpis_code(LNW_Queue_wait((*request)->queue));
}

static inline int MPIS_Waitall(int count, MPIS_Request requests[], MPI_Status statuses[]) {
  int i, code = MPIS_SUCCESS;
  for (i = 0; i < count && code == MPIS_SUCCESS; ++i)
    code = MPIS_Wait(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
  return code;
}

static inline int MPIS_Request_free(MPIS_Request* request) {
  const int code = (*request)->request == LNW_REQUEST_NULL ? MPI_SUCCESS : LNW_Request_free(&(*request)->request);
  if (code != MPI_SUCCESS) return lnw_mpis_code(code);
  free(*request);
  *request = NULL;
  return MPIS_SUCCESS;
}

static inline int MPIS_Request_freeall(int count, MPIS_Request requests[]) {
  int i, code = MPIS_SUCCESS;
  for (i = 0; i < count && code == MPIS_SUCCESS; ++i) code = MPIS_Request_free(&requests[i]);
  return code;
}

static inline int MPIS_Alloc_mem(MPI_Aint bytes, MPI_Info info, void** memory) {
  return lnw_mpis_code(MPI_Alloc_mem(bytes, info, memory));
}

static inline int MPIS_Free_mem(void* memory) {
  return lnw_mpis_code(MPI_Free_mem(memory));
}

#ifdef __cplusplus
}
#endif

#endif
