#include "mpi/library.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/log_line.hpp"
#include "base/simulated.hpp"
#include "mpi/quirks.hpp"

namespace laneway {

namespace {

std::string ask_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> version{};
  int length = 0;
  if (MPI_Get_library_version(version.data(), &length) != MPI_SUCCESS) return {};
  std::string line = std::string(version.data());
  line = line.substr(0, line.find('\n'));
  std::ranges::replace(line, '\t', ' ');
  return line;
}

bool check() {
  if constexpr (simulated) return true;
  const std::string complaint = complaint_about_library(library_version(), "liblaneway.so");
  if (complaint.empty()) return true;
  log_line(complaint);
  // A launcher takes the other ranks down when the first has gone: each says it.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

std::string complaint_about_library(std::string_view version, const std::string& file) {
  const std::string_view line = version.substr(0, version.find('\n'));
  // Descendants have names of their own; one that is unknown gets the benefit of the doubt.
  const bool is_other = std::ranges::any_of(quirks.others, [&](std::string_view other) {
    return !other.empty() && line.find(other) != std::string_view::npos;
  });
  if (!is_other) return {};
  return "this " + file + " was built for " + std::string(quirks.name) +
         ", but the program uses another MPI library: " + std::string(line);
}

const std::string& library_version() {
  static const std::string version = ask_library();
  return version;
}

void require_own_library() {
  static const bool is_own = check();
  static_cast<void>(is_own);
}

}  // namespace laneway
