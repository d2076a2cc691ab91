#include "collectives/costs.hpp"

#include <algorithm>
#include <cmath>

namespace laneway::dense::costs {

namespace {

struct Shape {
  double ranks;
  double nodes;
  double members;  ///< of the largest node
  double outside;  ///< ranks on other nodes
  double bytes;
  double sums;  ///< what is combined counts

  Shape(const DenseFacts& facts, const Layout& layout)
      : ranks(layout.ranks()),
        nodes(layout.regions()),
        members(layout.largest()),
        outside(std::max(ranks - members, 0.0)),
        bytes(static_cast<double>(facts.bytes)),
        sums(reduces(facts.kind) ? 1 : 0) {}
};

double rounds(double n) {
  return n > 1 ? std::ceil(std::log2(n)) : 0;
}

DenseCost add(DenseCost a, const DenseCost& b) {
  a.node_rounds += b.node_rounds;
  a.node_messages += b.node_messages;
  a.node_bytes += b.node_bytes;
  a.network_rounds += b.network_rounds;
  a.network_messages += b.network_messages;
  a.network_bytes += b.network_bytes;
  a.injected_bytes += b.injected_bytes;
  a.combined_bytes += b.combined_bytes;
  return a;
}

DenseCost inside(double rounds, double messages, double bytes, double combined = 0) {
  return {rounds, messages, bytes, 0, 0, 0, 0, combined};
}
/// `senders`: ranks of a node that do it at a time.
DenseCost across(double rounds, double messages, double bytes, double senders, double combined = 0) {
  return {0, 0, 0, rounds, messages, bytes, bytes * senders, combined};
}

double segments(const DenseSettings& settings, double bytes) {
  return settings.segment_bytes > 0 ? std::max(1.0, std::ceil(bytes / static_cast<double>(settings.segment_bytes))) : 1;
}

/// At most so many parts as a node has ranks.
double parts_of(const Shape& s, const DenseSettings& settings) {
  return std::clamp<double>(settings.leaders, 1, s.members);
}

}  // namespace

namespace alltoall {

DenseCost pairwise(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return add(inside(s.members - 1, s.members - 1, (s.members - 1) * s.bytes),
             across(s.outside, s.outside, s.outside * s.bytes, s.members));
}

DenseCost nonblocking(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return add(inside(s.members > 1 ? 1 : 0, s.members - 1, (s.members - 1) * s.bytes),
             across(s.nodes > 1 ? 1 : 0, s.outside, s.outside * s.bytes, s.members));
}

DenseCost bruck(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double all = rounds(s.ranks);
  const double near = std::min(rounds(s.members), all);  // rounds in which some stay on the node
  const double each = s.ranks / 2 * s.bytes;
  if (s.nodes <= 1) return inside(all, all, all * each, all * each);
  // In the round of distance d, min(d, members) of a node's ranks send to another one.
  double injected = 0;
  for (double distance = 1; distance < s.ranks; distance *= 2) injected += std::min(distance, s.members) * each;
  DenseCost cost = inside(near, near, near * each, all * each);
  cost.network_rounds = cost.network_messages = all;
  cost.network_bytes = all * each;
  cost.injected_bytes = injected;
  return cost;
}

namespace {

/// Collectors gather from `sources` ranks each, of which a region has `collectors`.
DenseCost relayed(const Shape& s, double sources, double collectors, double regions, double region) {
  const double outside = s.ranks - region;
  const double away = outside * s.bytes;  // of a rank
  DenseCost cost = inside(1, region - 1, (region - 1) * s.bytes);
  if (sources > 1) cost = add(cost, inside(2, 2 * (sources - 1), 2 * (sources - 1) * away, 2 * sources * away));
  // Some of these regions may be on the own node.
  const double elsewhere = s.outside / std::max(outside, 1.0);
  cost = add(cost, across(s.nodes > 1 ? 1 : 0, (regions - 1) * elsewhere, sources * away * elsewhere,
                          s.members / sources, sources * away));
  cost = add(cost, inside(elsewhere < 1 ? 1 : 0, (regions - 1) * (1 - elsewhere), sources * away * (1 - elsewhere)));
  if (collectors > 1)
    cost = add(cost, inside(1, collectors - 1, sources * away * (collectors - 1) / collectors, sources * away));
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
  if (s.nodes <= 1) return inside(s.ranks - 1, s.ranks - 1, (s.ranks - 1) * s.bytes);
  return across(s.ranks - 1, s.ranks - 1, (s.ranks - 1) * s.bytes, 1);
}

DenseCost bruck(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double all = rounds(s.ranks);
  const double bytes = (s.ranks - 1) * s.bytes;
  return s.nodes <= 1 ? inside(all, all, bytes) : across(all, all, bytes, s.members);
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double steps = rounds(s.members);
  return add(inside(1 + steps, s.members - 1 + steps * segments(settings, s.ranks * s.bytes),
                    (s.members - 1) * s.bytes + steps * s.ranks * s.bytes),
             across(rounds(s.nodes), rounds(s.nodes), s.outside * s.bytes, 1));
}

DenseCost multi_lane(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double share = s.nodes * s.bytes;
  return add(across(s.nodes > 1 ? 1 : 0, s.nodes - 1, (s.nodes - 1) * s.bytes, s.members),
             inside(s.members > 1 ? 1 : 0, (s.members - 1) * segments(settings, share), (s.members - 1) * share));
}

}  // namespace allgather

namespace gather {

DenseCost direct(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return add(inside(1, s.members - 1, (s.members - 1) * s.bytes),
             across(s.nodes > 1 ? 1 : 0, s.outside, s.outside * s.bytes, 1));
}

DenseCost binomial(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double near = rounds(s.members);
  const double far = rounds(s.ranks) - near;
  return add(inside(near, near, (s.members - 1) * s.bytes),
             across(far, far, s.outside * s.bytes, 1, s.ranks * s.bytes));
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return add(inside(1, s.members - 1, (s.members - 1) * s.bytes),
             across(s.nodes > 1 ? 1 : 0, s.nodes - 1, s.outside * s.bytes, 1));
}

}  // namespace gather

namespace tree {

DenseCost binomial(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double near = rounds(s.members);
  const double far = std::max(rounds(s.ranks) - near, s.nodes > 1 ? 1.0 : 0.0);
  return add(inside(near, near, near * s.bytes, s.sums * near * s.bytes),
             across(far, far, far * s.bytes, 1, s.sums * far * s.bytes));
}

namespace {

/// A rank passes on the data so many times, to `width` others; the last segment has `way` ranks to go after that.
DenseCost pipeline(const Shape& s, const DenseSettings& settings, double width, double way, bool between) {
  const double pieces = segments(settings, s.bytes);
  const double bytes = width * s.bytes + way * s.bytes / pieces;
  const double messages = width * pieces + way;
  const double combined = s.sums * bytes;
  if (!between) return inside(width + way, messages, bytes, combined);
  DenseCost cost = across(width + way, messages, bytes, 1, combined);
  cost.injected_bytes = width * s.bytes;
  return cost;
}

}  // namespace

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  return add(pipeline(s, settings, rounds(s.nodes), 0, true), pipeline(s, settings, rounds(s.members), 0, false));
}

DenseCost chain(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  DenseCost cost;
  if (s.nodes > 1) cost = add(cost, pipeline(s, settings, 1, s.nodes - 2, true));
  if (s.members > 1) cost = add(cost, pipeline(s, settings, 1, s.members - 2, false));
  return cost;
}

DenseCost multi_lane(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double part = s.bytes / s.members;
  const double far = rounds(s.nodes);
  return add(inside(2, 2 * (s.members - 1), 2 * (s.members - 1) * part, s.sums * s.bytes),
             across(far, far * segments(settings, part), far * part, s.members, s.sums * far * part));
}

DenseCost ordered(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  DenseCost cost;
  if (s.nodes > 1) cost = add(cost, pipeline(s, settings, 1, s.nodes - 1, true));
  if (s.members > 1) cost = add(cost, pipeline(s, settings, 1, (s.members - 1) * s.nodes, false));
  return cost;
}

}  // namespace tree

namespace allreduce {

DenseCost recursive_doubling(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double near = rounds(s.members);
  const double far = s.nodes > 1 ? std::max(rounds(s.ranks) - near, 1.0) : 0;
  return add(inside(near, near, near * s.bytes, (near + far) * s.bytes), across(far, far, far * s.bytes, s.members));
}

DenseCost ring(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double steps = 2 * (s.ranks - 1);
  const double bytes = steps * s.bytes / s.ranks;
  return s.nodes <= 1 ? inside(steps, steps, bytes, bytes / 2) : across(steps, steps, bytes, 1, bytes / 2);
}

DenseCost rabenseifner(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double near = rounds(s.members);
  const double far = s.nodes > 1 ? std::max(rounds(s.ranks) - near, 1.0) : 0;
  // Halves go the farthest way first.
  const double between = s.nodes > 1 ? s.bytes * (1 - 1 / s.nodes) : 0;
  return add(inside(2 * near, 2 * near, 2 * (s.bytes - between), s.bytes),
             across(2 * far, 2 * far, 2 * between, s.members));
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double near = rounds(s.members);
  const double far = rounds(s.nodes);
  return add(inside(2 * near, 2 * near * segments(settings, s.bytes), 2 * near * s.bytes, (near + far) * s.bytes),
             across(far, far, far * s.bytes, 1));
}

DenseCost multi_lane(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double part = s.bytes / s.members;
  const double pieces = segments(settings, part);
  const double far = rounds(s.nodes);
  return add(inside(s.members > 1 ? 2 : 0, 2 * (s.members - 1) * pieces, 2 * (s.members - 1) * part, s.bytes),
             across(2 * far, 2 * far * pieces, 2 * part * (1 - 1 / s.nodes), s.members, part));
}

DenseCost locality_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  Rank least = layout.largest();
  for (Rank region = 0; region < layout.regions(); ++region) least = std::min(least, layout.size(region));
  const double radix = least + 1.0;
  const double near = rounds(s.members);
  const double far = s.nodes > 1 ? std::ceil(std::log(s.nodes) / std::log(radix)) : 0;
  return add(inside(2 * near + 2 * far, 2 * near + 2 * far * (radix - 2), (2 * near + 2 * far * (radix - 2)) * s.bytes,
                    (near + far * (radix - 1)) * s.bytes),
             across(far, far, far * s.bytes, radix - 1));
}

DenseCost ordered(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double part = s.bytes / s.ranks;
  return add(inside(2, 2 * (s.members - 1), 2 * (s.members - 1) * part, s.bytes),
             across(s.nodes > 1 ? 2 : 0, 2 * s.outside, 2 * s.outside * part, s.members));
}

}  // namespace allreduce

namespace reduce_scatter {

DenseCost pairwise(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double part = s.bytes / s.ranks;
  return add(inside(1, s.members - 1, (s.members - 1) * part, s.bytes),
             across(s.nodes > 1 ? 1 : 0, s.outside, s.outside * part, s.members));
}

DenseCost ring(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  DenseCost cost = allreduce::ring(facts, layout, settings);
  for (double* number : {&cost.node_rounds, &cost.node_messages, &cost.node_bytes, &cost.network_rounds,
                         &cost.network_messages, &cost.network_bytes, &cost.injected_bytes})
    *number /= 2;
  cost.combined_bytes += static_cast<double>(facts.bytes);  // the copy
  return cost;
}

DenseCost recursive_halving(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  DenseCost cost = allreduce::rabenseifner(facts, layout, settings);
  for (double* number : {&cost.node_rounds, &cost.node_messages, &cost.node_bytes, &cost.network_rounds,
                         &cost.network_messages, &cost.network_bytes, &cost.injected_bytes})
    *number /= 2;
  cost.combined_bytes += static_cast<double>(facts.bytes);
  return cost;
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double part = s.bytes / s.ranks;
  return add(inside(1, 2 * (s.members - 1), (s.members - 1) * part * s.nodes, 2 * s.bytes),
             across(s.nodes > 1 ? 1 : 0, s.nodes - 1, (s.nodes - 1) * part, s.members));
}

}  // namespace reduce_scatter

namespace scan {

DenseCost recursive_doubling(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double all = rounds(s.ranks);
  if (s.nodes <= 1) return inside(all, all, all * s.bytes, all * s.bytes);
  const double near = rounds(s.members);
  DenseCost cost = add(inside(near, near, near * s.bytes, all * s.bytes), across(all, all, all * s.bytes, 1));
  cost.injected_bytes = 0;
  for (double distance = 1; distance < s.ranks; distance *= 2)
    cost.injected_bytes += std::min(distance, s.members) * s.bytes;
  return cost;
}

DenseCost linear(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  return tree::ordered(facts, layout, settings);
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double near = rounds(s.members);
  const double far = rounds(s.nodes);
  return add(inside(2 * near, 2 * near, 2 * near * s.bytes, (near + far + 1) * s.bytes),
             across(far, far, far * s.bytes, 1));
}

}  // namespace scan

namespace barrier {

DenseCost dissemination(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double all = rounds(s.ranks);
  if (s.nodes <= 1) return inside(all, all, all);
  DenseCost cost = across(all, all, all, 1);
  cost.injected_bytes = 0;
  for (double distance = 1; distance < s.ranks; distance *= 2) cost.injected_bytes += std::min(distance, s.members);
  return cost;
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  return add(inside(s.members > 1 ? 2 : 0, 2 * (s.members - 1), 2 * (s.members - 1)),
             across(rounds(s.nodes), rounds(s.nodes), rounds(s.nodes), 1));
}

}  // namespace barrier

}  // namespace laneway::dense::costs
