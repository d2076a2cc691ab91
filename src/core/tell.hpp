#pragma once

#include <string>

namespace laneway {

/// Writes "laneway: WHAT" to stderr at once: lines of ranks that share a terminal stay whole.
void tell(const std::string& what);

/// Whether `LANEWAY_VERBOSE` asks for reports: set, and neither empty nor 0.
[[nodiscard]] bool is_verbose();

}  // namespace laneway
