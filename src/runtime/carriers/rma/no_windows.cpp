#include "mpi/ended_class.hpp"
#include "runtime/carriers/rma/windows.hpp"

// Without an MPI library.

namespace laneway {

std::string why_no_window(const Bootstrap&) {
  return "the library was built without MPI";
}

std::string share_window_with_all(Bootstrap& bootstrap, const Plan&, std::shared_ptr<PlanMemory>& memory) {
  memory = nullptr;
  return why_no_window(bootstrap);
}

void free_windows() noexcept {}

int class_of_ended_process() {
  return 0;
}

bool is_of_ended_process(int) {
  return false;
}

}  // namespace laneway
