#include "mpi/end_job.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/log_line.hpp"
#include "base/simulated.hpp"

namespace laneway {

void end_job(const std::string& why, MPI_Comm comm, int code) {
  log_line(why);
  // MPICH's launcher ends all at once, and may not read any more what has been said.
  if constexpr (!simulated) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  MPI_Abort(comm, code);
  std::abort();
}

}  // namespace laneway
