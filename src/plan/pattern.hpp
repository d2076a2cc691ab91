#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "base/bytes/types.hpp"

namespace laneway {

/// One edge of a pattern as one of its two ranks sees it. As an outgoing edge `peer` is the destination and `ranges`
/// are read from the send buffer; as an incoming edge `peer` is the source and `ranges` are the places in the receive
/// buffer. Both lists name the bytes in message order.
struct Edge {
  Rank peer = 0;
  RangeList ranges;

  friend bool operator==(const Edge&, const Edge&) = default;
};

/// What one rank sends and receives. The k-th outgoing edge from s to d matches the k-th incoming edge at d from s.
/// A place in the receive buffer that is named twice takes the last byte of the last edge that names it.
struct RankPattern {
  std::vector<Edge> out;
  std::vector<Edge> in;

  friend bool operator==(const RankPattern&, const RankPattern&) = default;
};

/// The patterns of all ranks, indexed by rank: for tests and tools, never at run time.
using Pattern = std::vector<RankPattern>;

/// For each edge, how many non-empty edges with the same peer come before it; -1 for empty edges.
[[nodiscard]] std::vector<int> ordinals(std::span<const Edge> edges);

/// Throws Error(topology) naming the first edge whose two sides differ in number or size.
void check_matched(const Pattern& pattern);

/// Throws Error(topology) if the two sides of an edge of `rank` to itself differ, or one of them is missing.
void check_self_edges(Rank rank, const RankPattern& pattern);

/// Bytes of a rank's incoming edges that end up in its receive buffer: the part of each edge's message that is not
/// overwritten by a later edge or element. `stream` and `place` have equal lengths; stream positions count from the
/// edge's first byte.
struct Landing {
  RangeList stream;
  RangeList place;
};

/// One Landing for each incoming edge. Takes O(n log n) in the number of ranges.
[[nodiscard]] std::vector<Landing> landings(std::span<const Edge> in);

}  // namespace laneway
