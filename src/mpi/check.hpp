#pragma once

#include <mpi.h>

#include <string>

namespace laneway {

/// Throws Error(mpi) with the MPI library's own text and class.
[[noreturn]] void throw_mpi_error(int code, const char* call);

inline void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw_mpi_error(code, call);
}

[[nodiscard]] std::string mpi_error_text(int code);
[[nodiscard]] int mpi_error_class(int code);

/// MPIX_ERR_PROC_FAILED; 0 where the MPI library has no such class.
[[nodiscard]] int class_of_ended_process();

/// Whether MPI says so since a process has ended, or since the program has revoked the communicator for that.
[[nodiscard]] bool is_of_ended_process(int code);

/// Destructors that may run later must call nothing else of MPI then.
[[nodiscard]] bool mpi_is_finalized();

}  // namespace laneway
