#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "collectives/counting.hpp"
#include "collectives/groups.hpp"

/// What the costs of rules are put together of.
namespace laneway::dense::costs {

inline double rounds(double n) {
  return n > 1 ? std::ceil(std::log2(n)) : 0;
}

inline DenseCost add(DenseCost a, const DenseCost& b) {
  a.node_rounds += b.node_rounds;
  a.node_messages += b.node_messages;
  a.node_bytes += b.node_bytes;
  a.network_rounds += b.network_rounds;
  a.network_messages += b.network_messages;
  a.network_bytes += b.network_bytes;
  a.injected_bytes += b.injected_bytes;
  a.injected_messages += b.injected_messages;
  a.combined_bytes += b.combined_bytes;
  a.at_once = a.at_once || b.at_once;
  a.ways = std::min(a.ways, b.ways);
  a.all.node_messages += b.all.node_messages;
  a.all.node_bytes += b.all.node_bytes;
  a.all.node_waits += b.all.node_waits;
  a.all.network_messages += b.all.network_messages;
  a.all.network_bytes += b.all.network_bytes;
  a.all.network_waits += b.all.network_waits;
  a.all.combined_bytes += b.all.combined_bytes;
  return a;
}

inline DenseCost times(const DenseCost& one, double n) {
  DenseCost cost = one;
  for (double* number :
       {&cost.node_rounds, &cost.node_messages, &cost.node_bytes, &cost.network_rounds, &cost.network_messages,
        &cost.network_bytes, &cost.injected_bytes, &cost.injected_messages, &cost.combined_bytes,
        &cost.all.node_messages, &cost.all.node_bytes, &cost.all.node_waits, &cost.all.network_messages,
        &cost.all.network_bytes, &cost.all.network_waits, &cost.all.combined_bytes})
    *number *= n;
  return cost;
}

inline DenseCost one_way(DenseCost cost) {
  cost.ways = 1;
  return cost;
}

/// `doing`: ranks of all nodes that do as much as the busiest; negative: all.
inline DenseCost inside(const Shape& s, double rounds, double messages, double bytes, double combined = 0,
                        double doing = -1) {
  DenseCost cost;
  cost.node_rounds = rounds;
  cost.node_messages = messages;
  cost.node_bytes = bytes;
  cost.combined_bytes = combined;
  const double ranks = doing < 0 ? s.ranks : doing;
  cost.all = {messages * ranks, bytes * ranks, rounds * ranks, 0, 0, 0, combined * ranks};
  return cost;
}
/// `senders`: ranks of a node that do it at a time.
inline DenseCost across(const Shape& s, double rounds, double messages, double bytes, double senders,
                        double combined = 0) {
  DenseCost cost;
  cost.network_rounds = rounds;
  cost.network_messages = messages;
  cost.network_bytes = bytes;
  cost.injected_bytes = bytes * senders;
  cost.injected_messages = messages * senders;
  cost.combined_bytes = combined;
  const double ranks = std::min(s.nodes * senders, s.ranks);
  cost.all = {0, 0, 0, messages * ranks, bytes * ranks, rounds * ranks, combined * ranks};
  return cost;
}

/// Of steps to the rank 1, 2, 4 ... further: those shorter than a node lead to another one at most once in a row, where
/// a node's ranks follow each other.
inline DenseCost along_ways(DenseCost cost, const Layout& layout) {
  const double all = rounds(layout.ranks());
  const double near = std::min(rounds(layout.largest()), all);
  for (Rank region = 0; region < layout.regions(); ++region)
    if (layout.members(region).back() - layout.leader(region) + 1 != layout.size(region)) return cost;
  if (layout.regions() > 1) cost.network_rounds = std::min(cost.network_rounds, all - near + (near > 0 ? 1 : 0));
  cost.node_rounds = all - cost.network_rounds;
  return cost;
}

inline double segments(const DenseSettings& settings, double bytes) {
  return settings.segment_bytes > 0 ? std::max(1.0, std::ceil(bytes / static_cast<double>(settings.segment_bytes))) : 1;
}

/// Ranks that a tree in each node keeps busy in each of its rounds, of all nodes.
inline double in_trees(const Shape& s) {
  return s.members > 1 ? (s.ranks - s.nodes) / rounds(s.members) : 0;
}

/// Of messages of so many bytes that each rank sends to all others.
inline void count_pairs(DenseCost& cost, const Shape& s, double bytes) {
  cost.all.node_messages = s.inside_pairs;
  cost.all.node_bytes = s.inside_pairs * bytes;
  cost.all.network_messages = s.across_pairs;
  cost.all.network_bytes = s.across_pairs * bytes;
}

/// Up a tree in each node, and down again: the leader receives what it sends later. Messages of a level are under way
/// at the same time, so that beyond the first one of each only the leader's end of the copies counts.
inline DenseCost up_and_down(const Shape& s, bool is_short, double pieces) {
  const TreeShape tree(s.members, is_short ? short_radix_inside : 2);
  DenseCost cost = inside(s, 2 * tree.levels, tree.children * pieces, (tree.children + tree.levels) * s.bytes,
                          tree.children * s.bytes, 0);
  const double members = s.ranks - s.nodes;  // that are no leaders
  cost.all.node_messages = 2 * members * pieces;
  cost.all.node_bytes = 2 * members * s.bytes;
  cost.all.node_waits = members + s.nodes * tree.parents;
  const double copies = members == 0 ? s.nodes : is_short ? s.nodes * tree.parents : 0;  // of operands, before sums
  cost.all.combined_bytes = (members + copies) * s.bytes;
  return cost;
}

/// Parts of whole elements into which a vector is cut among so many ranks.
inline double parts_among(const DenseFacts& facts, double ranks) {
  const std::int64_t elements = facts.bytes / std::max<std::int64_t>(facts.element_bytes, 1);
  return std::clamp(static_cast<double>(elements), 1.0, std::max(ranks, 1.0));
}

/// Of doubling, where those beyond a power of two leave their data to others first, and get it back.
inline double folded_rounds(double n) {
  if (n <= 1) return 0;
  const double whole = std::floor(std::log2(n));
  return std::exp2(whole) == n ? whole : whole + 2;
}

/// At most so many parts as a node has ranks.
inline double parts_of(const Shape& s, const DenseSettings& settings) {
  return std::clamp<double>(settings.leaders, 1, s.members);
}

}  // namespace laneway::dense::costs
