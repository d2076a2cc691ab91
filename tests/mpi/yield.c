/* Preloaded into ranks of an MPICH on UCX: each turn of its engine calls this, and now and then gives the processor to
 * another rank. MPICH itself never does, so that three ranks on two cores would wait milliseconds for each message. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*next)(void*);
  static _Thread_local unsigned turns;
  /* Threads that come here at once find the same. */
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (++turns % 16 == 0) sched_yield();
  /* Ends in a jump: the library looks who calls its own function of this name (src/mpi/quirks/engine_ucx.cpp). */
  return next(worker);
}
