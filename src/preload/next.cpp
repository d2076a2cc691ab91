#include "preload/next.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_line.hpp"
#include "mpi/library.hpp"
#include "mpi/quirks.hpp"

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
  log_line(complaint);
  std::_Exit(EXIT_FAILURE);
}

/// Where the library is that has `symbol`; null if it is not known.
const void* library_of(const void* symbol) {
  Dl_info found{};
  return symbol != nullptr && dladdr(symbol, &found) != 0 ? found.dli_fbase : nullptr;
}

/// Whether that is the name of an MPI library's file, with a version or without.
bool is_mpi_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libmpi.so") || name.starts_with("libmpich.so");
}

}  // namespace

void check_loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* found) {
        if (is_mpi_library(library->dlpi_name))
          static_cast<std::vector<std::string>*>(found)->push_back(library->dlpi_name);
        return 0;
      },
      &paths);
  const void* const ours = library_of(find_next("PMPI_Recv"));
  for (const std::string& path : paths) {
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    const void* const other = library_of(dlsym(handle, "PMPI_Recv"));
    dlclose(handle);
    if (other == nullptr || other == ours) continue;
    log_line("this liblaneway_mpi.so was built for " + std::string(quirks.name) +
             ", but the program uses another MPI library: " + path);
    std::_Exit(EXIT_FAILURE);
  }
}

void* find_tool(const char* symbol) {
  void* const found = dlsym(RTLD_NEXT, symbol);
  return library_of(found) == library_of(find_next("PMPI_Recv")) ? nullptr : found;
}

void* find_next(const char* symbol) {
  void* const found = dlsym(RTLD_NEXT, symbol);
  if (found == nullptr) {
    log_line(std::string("the MPI library has no ") + symbol + ", unlike the one that liblaneway_mpi.so was built for");
    std::_Exit(EXIT_FAILURE);
  }
  return found;
}

}  // namespace laneway::interpose
