#pragma once

#include <mpi.h>

#include "mpi/quirks.hpp"
#include "mpi/running.hpp"

namespace laneway {

/// What MPI_Reduce_local is for, by loops of this library: of numbers, and the predefined operators but for those of
/// pairs. False, and nothing is done, of others. As the standard says also where libraries are not: Open MPI 4.1.4 adds
/// long rows of bytes up to their largest value only, and MPICH 4.0.2 compares unsigned numbers as signed ones.
[[nodiscard]] bool reduce_by_loops(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op);

/// Whether MPI_Reduce_local can be called now.
[[nodiscard]] inline bool mpi_reduces_locally() {
  return quirks.reduces_locally_without_world || has_world();
}

/// MPI_Reduce_local, or the loops where that cannot be called. Returns MPI's code; MPI_ERR_OP where neither serves.
[[nodiscard]] inline int reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  if (mpi_reduces_locally()) return MPI_Reduce_local(in, inout, count, type, op);
  return reduce_by_loops(in, inout, count, type, op) ? MPI_SUCCESS : MPI_ERR_OP;
}

}  // namespace laneway
