#pragma once

#include <mpi.h>

#include <string>

#include "mpi/ended_class.hpp"

namespace laneway {

/// Throws Error(mpi) with the MPI library's own text and class.
[[noreturn]] void throw_mpi_error(int code, const char* call);

inline void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw_mpi_error(code, call);
}

[[nodiscard]] std::string mpi_error_text(int code);
[[nodiscard]] int mpi_error_class(int code);

/// Destructors that may run later must call nothing else of MPI then.
[[nodiscard]] bool mpi_is_finalized();

}  // namespace laneway
