#pragma once

#include <string>
#include <string_view>

namespace laneway {

/// Writes "laneway: WHAT" to stderr at once: lines of ranks that share a terminal stay whole.
void log_line(const std::string& what);

/// Whether reports of a part are asked for: by `LANEWAY_VERBOSE`, which is neither empty nor 0, or by `LANEWAY_LOG`
/// (core/log.hpp).
[[nodiscard]] bool is_verbose(std::string_view part);

/// Whether what only helps to find faults is: by a number from 2, or by `LANEWAY_LOG=debug`.
[[nodiscard]] bool is_debugging(std::string_view part);

/// False on all processes but the first of a run, as the launcher tells it before MPI is initialised.
[[nodiscard]] bool is_first_process();

}  // namespace laneway
