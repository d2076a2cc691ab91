#include "base/log_line.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/log.hpp"

namespace laneway {

void log_line(const std::string& what) {
  const std::string text = "laneway: " + what + '\n';
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = write(STDERR_FILENO, left.data(), left.size());
    if (written < 0) return;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

namespace {

bool reaches(LogLevel level, std::string_view part) {
  const char* const log = std::getenv("LANEWAY_LOG");
  if (log != nullptr && level_in(log, part) >= level) return true;
  const char* const verbose = std::getenv("LANEWAY_VERBOSE");
  if (verbose == nullptr || *verbose == '\0' || std::string_view(verbose) == "0") return false;
  return level == LogLevel::info || std::atoi(verbose) > 1;
}

}  // namespace

bool is_verbose(std::string_view part) {
  return reaches(LogLevel::info, part);
}

bool is_debugging(std::string_view part) {
  return reaches(LogLevel::debug, part);
}

bool is_first_process() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* const rank = std::getenv(variable)) return std::string_view(rank) == "0";
  return true;
}

}  // namespace laneway
