#include "core/tell.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace laneway {

void tell(const std::string& what) {
  const std::string text = "laneway: " + what + '\n';
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = write(STDERR_FILENO, left.data(), left.size());
    if (written < 0) return;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool is_verbose() {
  const char* const verbose = std::getenv("LANEWAY_VERBOSE");
  return verbose != nullptr && *verbose != '\0' && std::string_view(verbose) != "0";
}

bool is_debugging() {
  return is_verbose() && std::atoi(std::getenv("LANEWAY_VERBOSE")) > 1;
}

bool is_first_process() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* const rank = std::getenv(variable)) return std::string_view(rank) == "0";
  return true;
}

}  // namespace laneway
