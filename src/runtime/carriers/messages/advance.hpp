#pragma once

#include <mpi.h>

#include "mpi/check.hpp"
#include "mpi/ended.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// No message of a communicator of this library has this tag.
inline constexpr int unused_tag = own_channels - 1;

/// Lets the MPI library advance all that is under way. `comm` is one of this library. Looks for a message that nobody
/// sends: where one is there, MPI_Iprobe says so and advances nothing, in MPICH and in Open MPI.
inline void advance_mpi(MPI_Comm comm) {
  int flag = 0;
  int code = MPI_Iprobe(MPI_ANY_SOURCE, unused_tag, comm, &flag, MPI_STATUS_IGNORE);
  if (says_that_some_have_ended(code)) [[unlikely]] {
    int own = MPI_PROC_NULL;
    MPI_Comm_rank(comm, &own);
    code = MPI_Iprobe(own, unused_tag, comm, &flag, MPI_STATUS_IGNORE);
  }
  check_mpi(code, "MPI_Iprobe");
}

}  // namespace laneway
