#include "mpi/check.hpp"

#include "base/error.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace laneway {

std::string mpi_error_text(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

int mpi_error_class(int code) {
  int found = MPI_ERR_OTHER;
  MPI_Error_class(code, &found);
#ifdef LANEWAY_HAS_PROC_FAILED
  // What a wildcard may still match is no matter of the program's.
  if (found == MPIX_ERR_PROC_FAILED_PENDING) return MPIX_ERR_PROC_FAILED;
#endif
  return found;
}

void throw_mpi_error(int code, const char* call) {
  throw Error(ErrorKind::mpi, std::string(call) + ": " + mpi_error_text(code), mpi_error_class(code));
}

int class_of_ended_process() {
#ifdef LANEWAY_HAS_PROC_FAILED
  return MPIX_ERR_PROC_FAILED;
#else
  return 0;
#endif
}

bool is_of_ended_process([[maybe_unused]] int code) {
#ifdef LANEWAY_HAS_PROC_FAILED
  const int found = code == MPI_SUCCESS ? code : mpi_error_class(code);
  return found == MPIX_ERR_PROC_FAILED || found == MPIX_ERR_REVOKED;
#else
  return false;
#endif
}

bool mpi_is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

}  // namespace laneway
