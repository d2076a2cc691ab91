#pragma once

#include <array>

#include "algorithms/collective/rules.hpp"

// Messages whose partners depend on where nodes begin are counted at one node of those that do the same: of equal nodes
// in a row, and of those that lie alike in blocks of a power of two. So it takes no longer for more of them, and no
// memory. Where ranks were put on nodes one by one no two nodes are known to do the same, nor where they are dealt and
// meet in trees, or in pairs of which some take no part: there the messages of all are counted.
namespace laneway::dense {

/// What a message of each round has, whose distance is 1, 2, 4 ...
using RoundBytes = std::array<double, 30>;

/// Each rank to the one that is 1, 2, 4 ... further, in so many rounds; `around`: the last ranks to the first ones.
[[nodiscard]] DenseCost count_steps(const Layout& layout, int rounds, bool around, const RoundBytes& bytes,
                                    double combined);

/// Each rank to those that items go to by hops (see for_each_hop), all of them `bytes` long.
[[nodiscard]] DenseCost count_hops(const Layout& layout, std::int64_t radix, double bytes);

/// All ranks in pairs that a power of two separates, each `times` times, as Folded of groups.cpp finds them. Those that
/// take no part leave `folded` bytes to their twins before, and get them back.
[[nodiscard]] DenseCost count_exchanges(const Layout& layout, int times, const RoundBytes& bytes, double folded,
                                        double combined);

/// Upwards in a binomial tree, or down: `bytes` of each rank, or of all below it, too.
[[nodiscard]] DenseCost count_tree(const Layout& layout, Rank root, double bytes, bool of_all_below);
/// Blocks that all ranks of such a tree send, with those of the ranks below them.
[[nodiscard]] double blocks_sent(Rank ranks);

/// The longest ways from the root of a binomial tree.
struct TreeWays {
  double crossings = 0;  ///< hops between nodes
  double messages = 0;   ///< to other nodes, of all ranks that data passes there
};
[[nodiscard]] TreeWays tree_ways(const Layout& layout, Rank root);

/// Leaders gather what their nodes have from each other, in Bruck's steps.
[[nodiscard]] DenseCost count_leaders_bruck(const Layout& layout, double bytes);

}  // namespace laneway::dense
