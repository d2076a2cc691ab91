#include "mpi/background.hpp"

#include <mpi.h>

#include <atomic>

#include "core/tell.hpp"
#include "exec/progress_thread.hpp"
#include "mpi/communicator.hpp"
#include "mpi/running.hpp"

namespace laneway {

namespace {

void say_once() {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  int rank = 0;
  if (has_world()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    tell(
        "lnw_progress=thread needs MPI_THREAD_MULTIPLE, which MPI_Init_thread has not provided; exchanges progress "
        "in calls of this library only");
}

}  // namespace

Progress provide_progress(Progress wanted) {
  if (wanted == Progress::in_calls) return wanted;
  if (single_threaded()) {
    say_once();
    return Progress::in_calls;
  }
  start_progress_thread();
  return Progress::by_thread;
}

}  // namespace laneway
