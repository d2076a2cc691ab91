#pragma once

#include <vector>

#include "base/bytes/types.hpp"

namespace laneway {

/// Which node each rank is on. Nodes are numbered by their first ranks. Takes constant memory where nodes have equally
/// many ranks that follow each other, memory in proportion to the nodes where ranks follow each other.
class NodeMap {
 public:
  /// All ranks on one node.
  explicit NodeMap(Rank ranks)
      : ranks_(ranks), nodes_(ranks > 0 ? 1 : 0), each_(ranks), largest_(ranks), smallest_(ranks), following_(ranks) {}
  /// `first`: for each rank the first rank of its node.
  explicit NodeMap(const std::vector<Rank>& first);

  [[nodiscard]] Rank ranks() const { return ranks_; }
  [[nodiscard]] Rank nodes() const { return nodes_; }
  /// Ranks on the largest node.
  [[nodiscard]] Rank largest() const { return largest_; }
  [[nodiscard]] Rank smallest() const { return smallest_; }
  [[nodiscard]] Rank node_of(Rank rank) const;
  /// The first rank of a node, which is the delegate of it.
  [[nodiscard]] Rank leader_of(Rank node) const;
  /// How many ranks of a node have numbers that follow each other, from its first one on.
  [[nodiscard]] Rank following(Rank node) const;
  /// The most of these on any node.
  [[nodiscard]] Rank most_following() const { return following_; }
  /// Ascending.
  [[nodiscard]] std::vector<Rank> members_of(Rank node) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Run {
    Rank begin;
    Rank node;
  };

  Rank ranks_ = 0;
  Rank nodes_ = 0;
  Rank each_ = 0;  ///< ranks on each node, the last one perhaps less; 0: see runs_
  Rank largest_ = 0;
  Rank smallest_ = 0;
  Rank following_ = 0;
  std::vector<Run> runs_;      ///< of ranks on one node
  std::vector<Rank> leaders_;  ///< by node
};

}  // namespace laneway
