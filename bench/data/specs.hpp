#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "data/exchange.hpp"

namespace laneway::bench {

/// The words of all texts. Specs contain commas, so lists of them are separated by spaces or semicolons.
[[nodiscard]] std::vector<std::string> split_specs(const std::vector<std::string>& texts);

/// Strategies in a list, separated like specs, and by commas where these are not between the levels of one strategy.
[[nodiscard]] std::vector<std::string> split_strategies(const std::vector<std::string>& texts);

/// What `ranks` ranks exchange, the matrix loaded if the pattern is `matrix:SPEC`. Throws Error.
[[nodiscard]] Workload load_workload(const std::string& pattern, Op op, std::int64_t bytes, Rank ranks,
                                     const Heavy& heavy = {});

/// `--heavy` and `--heavy-bytes`, which go together.
void add_heavy_options(CLI::App& command, Heavy& heavy);

/// One line for each graph and matrix that can be named.
[[nodiscard]] std::string describe_patterns();

}  // namespace laneway::bench
