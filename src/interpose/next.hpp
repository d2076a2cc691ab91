#pragma once

#include <mpi.h>

/// Symbols of the MPI library that this one stands in front of.
///
/// MPI_X and PMPI_X are one function here: profiling tools, and Open MPI's Fortran bindings, call PMPI_X. The function
/// that it hides is found by the dynamic linker and called as laneway_next_MPI_X. In the objects of the other rooms
/// that are linked into this library, calls of MPI_X are renamed (rename.cmake), so that nothing of ours comes back
/// here.

namespace laneway::interpose {

/// The address of `symbol` in the libraries that come after this one. Ends the process with a text if there is none.
void* find_next(const char* symbol);

}  // namespace laneway::interpose

/// INTERPOSE(MPI_X, (parameters), (arguments)) { body }: defines MPI_X, PMPI_X and laneway_next_MPI_X.
#define INTERPOSE(NAME, PARAMETERS, ARGUMENTS)                                                               \
  extern "C" int laneway_next_##NAME PARAMETERS {                                                            \
    static const auto next = reinterpret_cast<decltype(&P##NAME)>(laneway::interpose::find_next("P" #NAME)); \
    return next ARGUMENTS;                                                                                   \
  }                                                                                                          \
  extern "C" __attribute__((visibility("default"), alias("P" #NAME))) int NAME PARAMETERS;                   \
  extern "C" __attribute__((visibility("default"))) int P##NAME PARAMETERS
