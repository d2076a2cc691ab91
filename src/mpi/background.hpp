#pragma once

#include "exec/progress.hpp"

namespace laneway {

/// `wanted`, as far as this process can have it: starts the progress thread where it is wanted and MPI lets threads
/// call it. Where MPI does not, rank 0 of MPI_COMM_WORLD says so, once.
[[nodiscard]] Progress provide_progress(Progress wanted);

}  // namespace laneway
