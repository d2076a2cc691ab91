#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "collectives/cost_parts.hpp"
#include "collectives/costs.hpp"
#include "collectives/counting.hpp"

// Of rules that move blocks: all-to-all, allgather, gather and scatter.

namespace laneway::dense::costs {

namespace {

/// Each rank's block to the first of its node, or from it.
DenseCost with_leaders(const Shape& s) {
  DenseCost cost = inside(s, 1, s.members - 1, (s.members - 1) * s.bytes, 0, s.nodes);
  cost.all.node_messages = s.ranks - s.nodes;
  cost.all.node_bytes = (s.ranks - s.nodes) * s.bytes;
  return cost;
}

}  // namespace

namespace alltoall {

DenseCost pairwise(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  DenseCost cost = add(inside(s, s.members - 1, s.members - 1, (s.members - 1) * s.bytes),
                       across(s, s.outside, s.outside, s.outside * s.bytes, s.members));
  count_pairs(cost, s, s.bytes);
  return cost;
}

DenseCost nonblocking(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  DenseCost cost = across(s, s.nodes > 1 ? 1 : 0, s.outside, s.outside * s.bytes, s.members);
  cost.at_once = s.outside > 1;
  cost = add(inside(s, s.members > 1 ? 1 : 0, s.members - 1, (s.members - 1) * s.bytes), cost);
  count_pairs(cost, s, s.bytes);
  return cost;
}

DenseCost bruck(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  Counting counting(layout);
  const Rank n = layout.ranks();
  double copied = 0;
  for (Rank bit = 1; bit < n; bit *= 2) {
    Rank blocks = 0;  // whose number has the bit
    for (Rank j = bit; j < n; j += 2 * bit) blocks += std::min(bit, n - j);
    const double bytes = static_cast<double>(blocks) * static_cast<double>(facts.bytes);
    shift(counting, n, bit, bytes);
    copied += bytes;
  }
  return along_ways(counting.cost(copied), layout);
}

namespace {

/// Collectors gather from `sources` ranks each, of which a region has `collectors`.
DenseCost relayed(const Shape& s, double sources, double collectors, double regions, double region) {
  const double outside = s.ranks - region;
  const double away = outside * s.bytes;  // of a rank
  DenseCost cost = inside(s, 1, region - 1, (region - 1) * s.bytes);
  if (sources > 1)
    cost = add(cost, inside(s, 2, 2 * (sources - 1), 2 * (sources - 1) * away, 2 * sources * away, s.ranks / sources));
  // Some of these regions may be on the own node.
  const double elsewhere = s.outside / std::max(outside, 1.0);
  cost = add(cost, across(s, s.nodes > 1 ? 1 : 0, (regions - 1) * elsewhere, sources * away * elsewhere,
                          s.members / sources, sources * away));
  cost = add(cost, inside(s, elsewhere < 1 ? 1 : 0, (regions - 1) * (1 - elsewhere), sources * away * (1 - elsewhere),
                          0, s.ranks / sources));
  if (collectors > 1)
    cost = add(cost, inside(s, 1, collectors - 1, sources * away * (collectors - 1) / collectors, sources * away,
                            s.ranks / sources));
  return cost;
}

}  // namespace

DenseCost hierarchical(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return relayed(s, s.members, 1, s.nodes, s.members);
}

DenseCost multi_leader(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double parts = parts_of(s, settings);
  return relayed(s, s.members / parts, 1, s.nodes * parts, s.members / parts);
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return relayed(s, 1, s.members, s.nodes, s.members);
}

DenseCost locality_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double parts = parts_of(s, settings);
  return relayed(s, 1, s.members / parts, s.nodes * parts, s.members / parts);
}

DenseCost multi_leader_locality(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double parts = parts_of(s, settings);
  return relayed(s, s.members / parts, parts, s.nodes, s.members);
}

}  // namespace alltoall

namespace allgather {

DenseCost direct(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  return alltoall::nonblocking(facts, layout, settings);
}

DenseCost ring(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  Counting counting(layout);
  shift(counting, layout.ranks(), 1, s.bytes);
  return times(counting.cost(0), s.ranks - 1);
}

DenseCost bruck(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  Counting counting(layout);
  const Rank n = layout.ranks();
  for (Rank distance = 1; distance < n; distance *= 2)
    shift(counting, n, distance,
          static_cast<double>(std::min(distance, n - distance)) * static_cast<double>(facts.bytes));
  return along_ways(counting.cost(0), layout);
}

namespace {

/// Leaders gather what their nodes have from each other, in Bruck's steps.
void gather_between_leaders(Counting& counting, const Layout& layout, double bytes) {
  const Rank n = layout.regions();
  std::vector<double> before(2 * static_cast<std::size_t>(n) + 1, 0);  // ranks on the nodes before, around twice
  for (Rank i = 0; i < 2 * n; ++i)
    before[static_cast<std::size_t>(i) + 1] = before[static_cast<std::size_t>(i)] + layout.size(i % n);
  for (Rank distance = 1; distance < n; distance *= 2) {
    const Rank nodes = std::min(distance, n - distance);
    for (Rank i = 0; i < n; ++i)
      counting.message(layout.leader(i), layout.leader((i - distance + n) % n),
                       (before[static_cast<std::size_t>(i + nodes)] - before[static_cast<std::size_t>(i)]) * bytes);
    counting.end_round();
  }
}

}  // namespace

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double steps = rounds(s.members);
  const double pieces = segments(settings, s.ranks * s.bytes);
  Counting counting(layout);
  gather_between_leaders(counting, layout, s.bytes);
  return add(add(with_leaders(s), inside(s, steps, steps * pieces, steps * s.ranks * s.bytes, 0, in_trees(s))),
             counting.cost(0));
}

DenseCost multi_lane(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double share = s.nodes * s.bytes;
  // A message ends with the block that makes it a segment.
  const double blocks = std::max(1.0, std::ceil(static_cast<double>(settings.segment_bytes) / std::max(s.bytes, 1.0)));
  const double pieces = std::ceil(s.nodes / blocks);
  DenseCost near = inside(s, s.members > 1 ? 1 : 0, (s.members - 1) * pieces, (s.members - 1) * share);
  near.all.node_messages = s.inside_pairs * pieces;
  near.all.node_bytes = (s.ranks - s.nodes) * s.ranks * s.bytes;
  return add(across(s, s.nodes > 1 ? 1 : 0, s.nodes - 1, (s.nodes - 1) * s.bytes, s.members), near);
}

}  // namespace allgather

namespace gather {

namespace {

/// To the root, or from it, of the nodes that it is not on.
DenseCost from_elsewhere(const Shape& s, double messages) {
  const double bytes = (s.ranks - s.home) * s.bytes;
  DenseCost cost = across(s, s.nodes > 1 ? 1 : 0, messages, bytes, 1);
  cost.all.network_messages = messages;
  cost.all.network_bytes = bytes;
  return cost;
}

}  // namespace

DenseCost direct(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return one_way(add(inside(s, 1, s.home - 1, (s.home - 1) * s.bytes, 0, 1), from_elsewhere(s, s.ranks - s.home)));
}

DenseCost binomial(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const Rank n = layout.ranks();
  Counting counting(layout);
  double copied = 0;  // a rank that passes on what it got puts its own before that
  for (Rank v = 1; v < n; ++v) {
    const Rank below = std::min(v & -v, n - v);
    counting.message((facts.root + v) % n, (facts.root + (v & (v - 1))) % n, below * s.bytes);
    if (below > 1) copied += below * s.bytes;
  }
  DenseCost cost = one_way(counting.cost(0));
  cost.node_rounds = rounds(s.members);
  cost.network_rounds = rounds(s.ranks) - cost.node_rounds;
  cost.combined_bytes = s.ranks / 2 * s.bytes;
  cost.all.combined_bytes = copied;
  cost.all.node_waits /= 2;  // every second rank passes on what it waits for
  cost.all.network_waits /= 2;
  return cost;
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return one_way(add(with_leaders(s), from_elsewhere(s, s.nodes - 1)));
}

}  // namespace gather

}  // namespace laneway::dense::costs
