#pragma once

#include <string>

#include "base/json.hpp"

namespace laneway::bench {

/// Of what records of laneway-bench say: raised when a key changes its meaning or goes.
inline constexpr int schema_number = 1;

/// Of this build.
[[nodiscard]] const char* build_version();
/// The commit that was built, with -dirty if files had changed; empty if not known.
[[nodiscard]] const char* build_commit();

/// Where a result is from: `schema`, `version`, `commit`, `date`, `host`, `processors`, and what was added.
[[nodiscard]] const Json& provenance();
/// Adds what only some commands know, such as the MPI library.
void add_provenance(const Json& known);

/// The record, and its provenance as the object `run`.
[[nodiscard]] Json with_provenance(Json record);

/// Appends a record, with its provenance as the object `run`, as a line to a file. Throws Error(io).
void append_record(const std::string& path, Json record);

}  // namespace laneway::bench
