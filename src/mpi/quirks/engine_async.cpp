#include <mpi.h>

#include <string_view>

#include "mpi/quirks/engine.hpp"

/// MPICH lets others in since 4.3, by MPIX_Async_start.
namespace laneway::engine {

namespace {

std::atomic<bool> is_started{false};

/// MPI_Finalize waits until all that was started is done.
int poll(MPIX_Async_thing) {
  if (const auto function = called.load(std::memory_order_acquire)) {
    function();
    return MPIX_ASYNC_NOPROGRESS;
  }
  is_started.store(false, std::memory_order_release);
  return MPIX_ASYNC_DONE;
}

}  // namespace

/// MPICH 5.0.2 waits in MPI_Finalize for what was started before it deletes the attributes of MPI_COMM_SELF, by which
/// the library learns that it shall end it: programs would hang. So only who asks gets it.
bool can_be_entered(const char* setting) {
  return setting != nullptr && std::string_view(setting) == "1" && is_tried();
}

void enter(int (*function)(), int (*)()) {
  if (function != nullptr && !is_started.exchange(true, std::memory_order_acq_rel))
    MPIX_Async_start(poll, nullptr, MPIX_STREAM_NULL);
}

}  // namespace laneway::engine
