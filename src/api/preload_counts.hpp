#pragma once

#include <mpi.h>

#include <cstdint>

namespace laneway {

/// What the preload has counted on this rank (docs/reference/preload-report.md).
struct PreloadCounts {
  std::int64_t taken = 0;
  std::int64_t left = 0;
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

}  // namespace laneway

/// Of liblaneway_mpi.so, where that is loaded: of a communicator, or of all that there have been (MPI_COMM_NULL).
extern "C" laneway::PreloadCounts laneway_preload_counts(MPI_Comm comm);
