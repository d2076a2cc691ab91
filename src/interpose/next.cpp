#include "interpose/next.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "core/tell.hpp"
#include "mpi/library.hpp"

namespace laneway::interpose {

namespace {

/// Handles of another MPI library would be taken for ours, or crash.
[[gnu::constructor]] void check_library() {
  const auto version = reinterpret_cast<decltype(&PMPI_Get_library_version)>(find_next("PMPI_Get_library_version"));
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  if (version(text, &length) != MPI_SUCCESS) return;
  const std::string complaint = complaint_about_library(text, "liblaneway_mpi.so");
  if (complaint.empty()) return;
  tell(complaint);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

void* find_next(const char* symbol) {
  void* const found = dlsym(RTLD_NEXT, symbol);
  if (found == nullptr) {
    tell(std::string("the MPI library has no ") + symbol + ", unlike the one that liblaneway_mpi.so was built for");
    std::_Exit(EXIT_FAILURE);
  }
  return found;
}

}  // namespace laneway::interpose
