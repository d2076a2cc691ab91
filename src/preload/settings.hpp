#pragma once

#include <mpi.h>

namespace laneway::interpose {

/// False under LANEWAY_DISABLE=1 and =count.
[[nodiscard]] bool enabled();

/// Under LANEWAY_DISABLE=count, where calls are counted by what would become of them.
[[nodiscard]] bool only_counts();

/// Whether there are MPI_COMM_WORLD and MPI_COMM_SELF, which programs that only open sessions have not.
[[nodiscard]] bool has_world();

/// How split-phase operations (nonblocking and persistent ones) of this process progress while it is in MPI calls that
/// know nothing of them.
enum class SplitPhase {
  hooked,    ///< the MPI library calls this one whenever it waits, in whatever call
  promised,  ///< LANEWAY_PROGRESS says that they need not, or that a thread does it
  unsafe     ///< not at all: they are left to the MPI library
};
[[nodiscard]] SplitPhase split_phase();

}  // namespace laneway::interpose
