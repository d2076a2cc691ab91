#pragma once

#include <cstdint>
#include <vector>

#include "communicator/communicator.hpp"
#include "communicator/hints/hints.hpp"
#include "machine/machine.hpp"

namespace laneway {

/// The neighbours of one vertex of a graph. Weights are empty where the graph has none.
struct GraphLists {
  bool weighted = false;
  std::vector<int> sources;
  std::vector<int> source_weights;
  std::vector<int> destinations;
  std::vector<int> destination_weights;
};

/// What one rank must know to take part in a reordering.
struct Role {
  Rank vertex = 0;  ///< the vertex that this rank plays: its rank from now on
  Rank player = 0;  ///< the rank that plays the vertex that this rank has described
  Reordering reordering;
};

/// Decides who plays which vertex; rank v describes vertex v by `lists`. Collective. Rank 0 gathers the edges and the
/// nodes of all ranks, since the partitioner is sequential: it alone needs memory for the whole graph.
[[nodiscard]] Role find_role(const PrivateComm& comm, const Region& node, const GraphLists& lists, const Hints& hints);

/// The lists of the vertex that this rank plays, from the rank that has described it.
[[nodiscard]] GraphLists take_over(const PrivateComm& comm, const Role& role, const GraphLists& lists);

}  // namespace laneway
