#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "communicator/communicator.hpp"
#include "plan/pattern.hpp"

namespace laneway {

/// What the sizes of this rank's edges, empty ones aside, add to a sum over all ranks, modulo 2^64, that is 0 where
/// both sides of every edge agree, and most unlikely to be 0 where they do not.
[[nodiscard]] std::uint64_t edge_sum(Rank rank, const RankPattern& pattern);

/// Compares both sides of every edge of all ranks, also of edges that only one side has. Collective. Throws
/// Error(topology) on all ranks, naming the first edge that disagrees, its source, destination and both sizes.
void check_edges(const ControlComm& comm, const RankPattern& pattern);

struct RankText {
  Rank rank = 0;
  std::string text;
};
/// That of the first rank which has one, with its first 511 bytes; none: nobody has. Collective.
[[nodiscard]] std::optional<RankText> first_text(const ControlComm& comm, const std::string& mine);

/// Throws Error on all ranks if `mine`, of which nobody needs to have one, differs between two: `what`, then what each
/// has, and its rank. Collective.
void check_same(const ControlComm& comm, const std::string& what, const std::string& mine, int error_class);

}  // namespace laneway
