#pragma once

#include <string>

namespace laneway {

/// Writes "laneway: WHAT" to stderr at once: lines of ranks that share a terminal stay whole.
void tell(const std::string& what);

/// Whether `LANEWAY_VERBOSE` asks for reports: set, and neither empty nor 0.
[[nodiscard]] bool is_verbose();

/// Whether it asks for what only helps to find faults: a number from 2.
[[nodiscard]] bool is_debugging();

/// False on all processes but the first of a run, as the launcher tells it before MPI is initialised.
[[nodiscard]] bool is_first_process();

}  // namespace laneway
