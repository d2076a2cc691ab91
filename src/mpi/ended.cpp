#include "mpi/ended.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "mpi/check.hpp"

namespace laneway {

bool says_that_some_have_ended([[maybe_unused]] int code) {
#ifdef LANEWAY_HAS_PROC_FAILED
  return code != MPI_SUCCESS && mpi_error_class(code) == MPIX_ERR_PROC_FAILED;
#else
  return false;
#endif
}

void acknowledge_ended([[maybe_unused]] MPI_Comm comm) {
#ifdef LANEWAY_HAS_PROC_FAILED
  check_mpi(MPIX_Comm_failure_ack(comm), "MPIX_Comm_failure_ack");
#endif
}

}  // namespace laneway
