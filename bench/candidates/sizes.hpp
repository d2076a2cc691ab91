#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace laneway::bench {

/// An option of sizes in bytes, which may be scans such as 8..1MiB; what is there already is the default.
void add_sizes(CLI::App& command, const std::string& option, std::vector<std::int64_t>& sizes, const std::string& text);

}  // namespace laneway::bench
