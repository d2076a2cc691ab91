#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/exchange.hpp"
#include "data/traffic.hpp"

namespace laneway::bench {

/// `count` of the nodes, ascending; at most all: the one that most bytes leave or enter, the one with the rank that has
/// most peers on other nodes (of several the first), the first, the last, and others that follow from the seed.
[[nodiscard]] std::vector<int> sample_nodes(const Workload& workload, const Nodes& nodes, int count,
                                            std::uint64_t seed);

/// Ascending.
[[nodiscard]] std::vector<Rank> ranks_of_nodes(std::span<const int> sample, const Nodes& nodes);

}  // namespace laneway::bench
