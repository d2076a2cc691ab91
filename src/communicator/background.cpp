#include "communicator/background.hpp"

#include <mpi.h>

#include <atomic>

#include "base/log_line.hpp"
#include "base/simulated.hpp"
#include "communicator/communicator.hpp"
#include "mpi/engine.hpp"
#include "mpi/running.hpp"
#include "runtime/executor/progress_thread.hpp"

namespace laneway {

namespace {

void log_once(bool engine) {
  static std::atomic<bool> logged{false};
  if (logged.exchange(true)) return;
  int rank = 0;
  if (has_world()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    log_line(
        std::string("lnw_progress=thread needs MPI_THREAD_MULTIPLE, which MPI_Init_thread has not provided; exchanges "
                    "progress in calls of ") +
        (engine ? "the MPI library" : "this library only"));
}

}  // namespace

std::string_view name(Helper helper) {
  return helper == Helper::none ? "calls" : helper == Helper::engine ? "engine" : "thread";
}

Helper find_helper(ProgressHint hint) {
  if (simulated && hint != ProgressHint::thread) return Helper::none;
  if (hint == ProgressHint::wait) return Helper::none;
  if (hint == ProgressHint::thread) {
    if (!single_threaded()) return Helper::thread_for_all;
    const bool engine = has_engine();
    log_once(engine);
    return engine ? Helper::engine : Helper::none;
  }
  return has_engine() ? Helper::engine : single_threaded() ? Helper::none : Helper::thread;
}

bool has_helper() {
  return find_helper(ProgressHint::automatic) != Helper::none;
}

bool may_relay(ProgressHint hint, bool all_have_helpers) {
  return simulated || all_have_helpers || hint == ProgressHint::wait || hint == ProgressHint::thread;
}

Progress progress_by(Helper helper) {
  return helper == Helper::thread_for_all ? Progress::by_thread
         : helper == Helper::thread       ? Progress::helped_by_thread
                                          : Progress::in_calls;
}

void employ(Helper helper) {
  if (helper == Helper::engine) {
    if (function_in_engine() == nullptr) call_in_engine(progress_in_engine);
  } else if (helper != Helper::none)
    start_progress_thread();
}

}  // namespace laneway
