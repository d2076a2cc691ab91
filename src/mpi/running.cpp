#include "mpi/running.hpp"

#include "base/error.hpp"
#include "mpi/check.hpp"

namespace laneway {

bool has_world() {
  static std::atomic<bool> known{false};
  if (known.load(std::memory_order_relaxed)) return true;
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) known.store(true, std::memory_order_relaxed);
  return initialized != 0;
}

bool is_running(MPI_Comm comm) {
  if (mpi_is_finalized()) return false;
  // Without MPI_Init a communicator that is not predefined is of a session.
  return has_world() || (comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF);
}

void running_detail::check(MPI_Comm comm) {
  require(!mpi_is_finalized(), ErrorKind::unsupported, "MPI_Finalize has been called");
  const bool is_predefined = comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF;
  require(has_world() || comm == MPI_COMM_NULL || !is_predefined, ErrorKind::unsupported,
          "MPI_Init has not been called");
}

bool is_too_late() {
  return running_detail::state.load(std::memory_order_relaxed) == running_detail::State::ending && mpi_is_finalized();
}

}  // namespace laneway
