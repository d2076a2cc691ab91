#pragma once

#include <mpi.h>

#include "base/process/relax.hpp"

namespace laneway::interpose {

class Deadline {
 public:
  explicit Deadline(double seconds) : end_(PMPI_Wtime() + seconds) {}
  /// False if `done` has not returned true in time.
  template <class Done>
  [[nodiscard]] bool wait(const Done& done) const {
    for (int turns = 0; !done(); relax(turns))
      if (PMPI_Wtime() > end_) return false;
    return true;
  }
  [[nodiscard]] bool wait(MPI_Request& request) const {
    return wait([&] {
      int flag = 0;
      return PMPI_Test(&request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag;
    });
  }

 private:
  double end_;
};

}  // namespace laneway::interpose
