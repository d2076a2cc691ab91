#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "algorithms/collective/counting.hpp"
#include "algorithms/collective/groups.hpp"

/// What the costs of rules are put together of.
namespace laneway::dense {

/// Of a call and a layout, what costs ask for.
struct Shape {
  const DenseFacts& facts;
  const Layout& layout;
  const DenseSettings& settings;
  double ranks = layout.ranks();
  double nodes = layout.regions();
  double members = layout.largest();                     ///< of the largest node
  double outside = std::max(ranks - members, 0.0);       ///< ranks on other nodes
  double home = layout.size(layout.region(facts.root));  ///< ranks on the root's node
  double inside_pairs = -ranks;                          ///< of ranks of one node, in both directions
  double across_pairs = 0;                               ///< of ranks of two nodes
  double bytes = static_cast<double>(facts.bytes);
  double sums = reduces(facts.kind) ? 1 : 0;  ///< what is combined counts

  Shape(const DenseFacts& of_facts, const Layout& of_layout, const DenseSettings& of_settings)
      : facts(of_facts), layout(of_layout), settings(of_settings) {
    for (const Layout::Run& run : layout.runs()) inside_pairs += static_cast<double>(run.regions) * run.size * run.size;
    across_pairs = ranks * (ranks - 1) - inside_pairs;
  }

  [[nodiscard]] bool is_short() const { return settings.is_short(facts.bytes); }
};

/// A k-nomial tree of n ranks.
struct TreeShape {
  double levels = 0;
  double children = 0;  ///< of the root
  double parents = 0;   ///< ranks that have children

  TreeShape(double n, double radix) : parents(n > 1 ? std::ceil(n / radix) : 0) {
    for (double span = 1; span < n; span *= radix) {
      ++levels;
      children += std::min(radix, std::ceil(n / span)) - 1;
    }
  }
};

inline int rounds(double n) {
  return n > 1 ? static_cast<int>(std::ceil(std::log2(n))) : 0;
}
/// Digits of numbers below n.
inline int digits(std::int64_t n, std::int64_t radix) {
  int all = 0;
  for (std::int64_t unit = 1; unit < n; unit *= radix) ++all;
  return all;
}
/// By the distance 1, 2, 4 ... of a round.
template <class F>
RoundBytes bytes_of_rounds(F&& bytes) {
  RoundBytes all;
  for (std::size_t round = 0; round < all.size(); ++round) all[round] = bytes(Rank{1} << round);
  return all;
}
inline RoundBytes each_round(double bytes) {
  return bytes_of_rounds([=](Rank) { return bytes; });
}

inline DenseCost add(DenseCost a, const DenseCost& b, double times = 1) {
  a.add(b, times);
  a.injected.add(b.injected, times);
  a.all.add(b.all, times);
  a.at_once = a.at_once || b.at_once;
  a.ways = std::min(a.ways, b.ways);
  return a;
}

inline DenseCost times(const DenseCost& cost, double n) {
  return add({}, cost, n);
}

inline DenseCost one_way(DenseCost cost) {
  cost.ways = 1;
  return cost;
}

/// `doing`: ranks of all nodes that do as much as the busiest; negative: all.
inline DenseCost inside(const Shape& s, double rounds, double messages, double bytes, double combined = 0,
                        double doing = -1) {
  DenseCost cost;
  cost.node = {messages, bytes, rounds};
  cost.combined_bytes = combined;
  cost.all.add(cost, doing < 0 ? s.ranks : doing);
  return cost;
}
/// `senders`: ranks of a node that do it at a time.
inline DenseCost across(const Shape& s, double rounds, double messages, double bytes, double senders,
                        double combined = 0) {
  DenseCost cost;
  cost.network = {messages, bytes, rounds};
  cost.injected = {messages * senders, bytes * senders};
  cost.combined_bytes = combined;
  cost.all.add(cost, std::min(s.nodes * senders, s.ranks));
  return cost;
}

/// Of steps to the rank 1, 2, 4 ... further, or so for another radix: those shorter than a node lead to another one at
/// most once in a row, where a node's ranks follow each other.
inline DenseCost along_ways(DenseCost cost, const Layout& layout, std::int64_t radix = 2) {
  const int all = digits(layout.ranks(), radix);
  const int near = std::min(digits(layout.largest(), radix), all);
  if (layout.placement() != Layout::Placement::blocks) return cost;
  if (layout.regions() > 1) cost.network.waits = std::min<double>(cost.network.waits, all - near + (near > 0 ? 1 : 0));
  cost.node.waits = all - cost.network.waits;
  return cost;
}

inline double segments(std::int64_t segment_bytes, double bytes) {
  return segment_bytes > 0 ? std::max(1.0, std::ceil(bytes / static_cast<double>(segment_bytes))) : 1;
}
inline double segments(const Shape& s, double bytes) {
  return segments(s.settings.segment_bytes, bytes);
}

/// Each rank's block to the first of its node, or from it.
inline DenseCost with_leaders(const Shape& s) {
  DenseCost cost = inside(s, 1, s.members - 1, (s.members - 1) * s.bytes, 0, s.nodes);
  cost.all.node.messages = s.ranks - s.nodes;
  cost.all.node.bytes = (s.ranks - s.nodes) * s.bytes;
  return cost;
}

/// A rank passes on the data so many times, to `width` others, which takes so many `levels`; the last segment has `way`
/// ranks to go after that.
inline DenseCost pipeline(const Shape& s, double levels, double width, double way, bool between) {
  const double pieces = segments(s, s.bytes);
  const double bytes = width * s.bytes + way * s.bytes / pieces;
  const double messages = width * pieces + way;
  const double combined = s.sums * bytes;
  DenseCost cost = between ? across(s, levels + way, messages, bytes, 1, combined)
                           : inside(s, levels + way, messages, bytes, combined);
  if (between) cost.injected = {width * pieces, width * s.bytes};
  // Each rank but the root gets the data once. Pieces that follow the first find it awake.
  const double receivers = between ? s.nodes - 1 : s.ranks - s.nodes;
  cost.ways = 1;
  cost.all = {};
  (between ? cost.all.network : cost.all.node) = {receivers * pieces, receivers * s.bytes, receivers};
  cost.all.combined_bytes = s.sums * receivers * s.bytes;
  return cost;
}

/// Of messages of so many bytes that each rank sends to all others.
inline void count_pairs(DenseCost& cost, const Shape& s, double bytes) {
  cost.all.node.messages = s.inside_pairs;
  cost.all.node.bytes = s.inside_pairs * bytes;
  cost.all.network.messages = s.across_pairs;
  cost.all.network.bytes = s.across_pairs * bytes;
}

/// Up a tree in each node, and down again: the leader receives what it sends later. Messages of a level are under way
/// at the same time, so that beyond the first one of each only the leader's end of the copies counts.
inline DenseCost up_and_down(const Shape& s, bool is_short, double pieces) {
  const TreeShape tree(s.members, is_short ? short_radix_inside : 2);
  DenseCost cost = inside(s, 2 * tree.levels, tree.children * pieces, (tree.children + tree.levels) * s.bytes,
                          tree.children * s.bytes, 0);
  const double members = s.ranks - s.nodes;  // that are no leaders
  cost.all.node = {2 * members * pieces, 2 * members * s.bytes, members + s.nodes * tree.parents};
  const double copies = members == 0 ? s.nodes : is_short ? s.nodes * tree.parents : 0;  // of operands, before sums
  cost.all.combined_bytes = (members + copies) * s.bytes;
  return cost;
}

}  // namespace laneway::dense
