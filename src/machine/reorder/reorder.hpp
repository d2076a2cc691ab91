#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes/types.hpp"

namespace laneway {

struct WeightedEdge {
  Rank source = 0;
  Rank destination = 0;
  std::int64_t weight = 1;  ///< not negative
};

/// Which process plays which vertex of a graph.
struct RankPlacement {
  std::vector<Rank> process;    ///< by vertex; a permutation
  std::int64_t weight = 0;      ///< of all edges
  std::int64_t cut_before = 0;  ///< of the edges between nodes if process v played vertex v, for all v
  std::int64_t cut_after = 0;   ///< and as placed
  Rank moved = 0;               ///< vertices v that process v does not play
};

/// Places the vertices of a graph, as many as there are processes, so that little weight is between nodes; `node` is
/// the node of each process, any numbers. Edges are directed; a pair may occur more than once. Without a partitioner,
/// or where it finds nothing better, every process v plays vertex v. A vertex that stays on its node stays at its
/// process. Repeatable.
[[nodiscard]] RankPlacement place_ranks(const std::vector<Rank>& node, const std::vector<WeightedEdge>& edges);

}  // namespace laneway
