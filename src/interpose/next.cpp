#include "interpose/next.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "core/tell.hpp"

namespace laneway::interpose {

namespace {

#ifdef OPEN_MPI
constexpr std::string_view expected_library = "Open MPI";
#else
constexpr std::string_view expected_library = "MPICH";
#endif

/// Handles of another MPI library would be taken for ours, or crash.
[[gnu::constructor]] void check_library() {
  const auto version = reinterpret_cast<decltype(&PMPI_Get_library_version)>(find_next("PMPI_Get_library_version"));
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  if (version(text, &length) == MPI_SUCCESS && std::string_view(text).starts_with(expected_library)) return;
  tell("this liblaneway_mpi.so was built for " + std::string(expected_library) +
       ", but the program uses another MPI library: " + std::string(text).substr(0, std::string(text).find('\n')));
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
