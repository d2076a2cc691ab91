#pragma once

#include <string>

namespace laneway {

/// What is wrong with the names of the environment's variables that start with LANEWAY_, in one line; empty if nothing
/// is. `environment` is a null-terminated list of NAME=VALUE.
[[nodiscard]] std::string complaint_about_variables(const char* const* environment);

/// Writes that line to standard error once, on rank 0.
void warn_of_unknown_variables();

}  // namespace laneway
