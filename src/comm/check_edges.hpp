#pragma once

#include <cstdint>

#include "comm/communicator.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

/// What the sizes of this rank's edges, empty ones aside, add to a sum over all ranks, modulo 2^64, that is 0 where
/// both sides of every edge agree, and most unlikely to be 0 where they do not.
[[nodiscard]] std::uint64_t edge_sum(Rank rank, const RankPattern& pattern);

/// Compares both sides of every edge of all ranks, also of edges that only one side has. Collective. Throws
/// Error(topology) on all ranks, naming the first edge that disagrees, its source, destination and both sizes.
void check_edges(const PrivateComm& comm, const RankPattern& pattern);

}  // namespace laneway
