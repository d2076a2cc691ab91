#include "collectives/costs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "collectives/cost_parts.hpp"
#include "collectives/counting.hpp"
#include "collectives/groups.hpp"

namespace laneway::dense::costs {

namespace tree {

DenseCost direct(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  DenseCost cost = gather::direct(facts, layout, settings);
  cost.combined_bytes = cost.all.combined_bytes = s.ranks * s.bytes;
  return cost;
}

/// What a rank sends to several others at once, all of them get at the same time: `rounds` count that for the last one,
/// `bytes` for the busiest rank and node.
DenseCost binomial(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const Rank n = layout.ranks();
  const auto rank = [&](Rank v) { return (facts.root + v) % n; };
  const auto parent = [](Rank v) { return v & (v - 1); };
  const auto crosses = [&](Rank v) { return layout.region(rank(v)) != layout.region(rank(parent(v))); };
  Counting counting(layout);
  std::vector<double> sends(static_cast<std::size_t>(n), 0);  // to other nodes
  for (Rank v = 1; v < n; ++v) {
    counting.message(rank(parent(v)), rank(v), s.bytes);
    sends[static_cast<std::size_t>(parent(v))] += crosses(v);
  }
  std::vector<std::pair<double, double>> way(static_cast<std::size_t>(n));  // hops inside, and between nodes
  double far = 0;
  double longest = 0;
  for (Rank v = 1; v < n; ++v) {
    auto& own = way[static_cast<std::size_t>(v)] = way[static_cast<std::size_t>(parent(v))];
    (crosses(v) ? own.second : own.first) += crosses(v) ? sends[static_cast<std::size_t>(parent(v))] : 1;
    longest = std::max(longest, own.second);
  }
  for (Rank v = 1; v < n; ++v) {
    double all = 0;
    for (Rank u = v; u != 0; u = parent(u)) all += crosses(u);
    far = std::max(far, all);
  }
  DenseCost cost = one_way(counting.cost(0));
  cost.network_rounds = far;
  cost.node_rounds = std::max(rounds(s.ranks) - far, 0.0);
  cost.network_messages = std::max(cost.network_messages, longest);
  cost.network_bytes = std::max(cost.network_bytes, longest * s.bytes);
  cost.combined_bytes = s.sums * rounds(s.ranks) * s.bytes;
  cost.all.combined_bytes = s.sums * (s.ranks - 1) * s.bytes;
  if (s.sums > 0) {  // upwards, who has children waits, which every second rank has
    cost.all.node_waits /= 2;
    cost.all.network_waits /= 2;
  }
  return cost;
}

namespace {

/// A rank passes on the data so many times, to `width` others, which takes so many `levels`; the last segment has `way`
/// ranks to go after that.
DenseCost pipeline(const Shape& s, const DenseSettings& settings, double levels, double width, double way,
                   bool between) {
  const double pieces = segments(settings, s.bytes);
  const double bytes = width * s.bytes + way * s.bytes / pieces;
  const double messages = width * pieces + way;
  const double combined = s.sums * bytes;
  DenseCost cost = between ? across(s, levels + way, messages, bytes, 1, combined)
                           : inside(s, levels + way, messages, bytes, combined);
  if (between) {
    cost.injected_bytes = width * s.bytes;
    cost.injected_messages = width * pieces;
  }
  // Each rank but the root gets the data once. Pieces that follow the first find it awake.
  const double receivers = between ? s.nodes - 1 : s.ranks - s.nodes;
  cost.ways = 1;
  cost.all = {};
  (between ? cost.all.network_messages : cost.all.node_messages) = receivers * pieces;
  (between ? cost.all.network_bytes : cost.all.node_bytes) = receivers * s.bytes;
  (between ? cost.all.network_waits : cost.all.node_waits) = receivers;
  cost.all.combined_bytes = s.sums * receivers * s.bytes;
  return cost;
}

}  // namespace

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const bool is_short = settings.is_short(facts.bytes);
  const TreeShape far(s.nodes, is_short ? short_radix_between : 2);
  const TreeShape near(s.members, is_short ? short_radix_inside : 2);
  DenseCost cost = add(pipeline(s, settings, far.levels, far.children, 0, true),
                       pipeline(s, settings, near.levels, near.children, 0, false));
  if (s.sums == 0) return cost;
  // Upwards, who has children waits for all of them together.
  cost.all.network_waits = far.parents;
  cost.all.node_waits = s.nodes * near.parents;
  return cost;
}

DenseCost chain(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  DenseCost cost;
  if (s.nodes > 1) cost = add(cost, pipeline(s, settings, 1, 1, s.nodes - 2, true));
  if (s.members > 1) cost = add(cost, pipeline(s, settings, 1, 1, s.members - 2, false));
  return cost;
}

DenseCost multi_lane(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double part = s.bytes / s.members;
  const auto whole = static_cast<std::int64_t>(std::ceil(part));
  const std::int64_t segment = lane_segment(layout, settings.segment_bytes);
  const double pieces = segments({.segment_bytes = segment}, part);
  const bool is_chain = segment > 0 && whole > segment;
  const double width = is_chain ? std::min(s.nodes - 1, 1.0) : rounds(s.nodes);
  const double way = is_chain ? std::max(s.nodes - 2, 0.0) : 0;
  DenseCost far = across(s, width + way, width * pieces + way, width * part + way * part / pieces, s.members,
                         s.sums * (width * part + way * part / pieces));
  far.injected_bytes = width * s.bytes;
  far.injected_messages = width * pieces * s.members;
  far.all.network_messages = (s.nodes - 1) * s.members * pieces;
  far.all.network_bytes = (s.nodes - 1) * s.bytes;
  far.all.network_waits = (s.nodes - 1) * s.members;
  // Of the two steps inside, one is on the root's node alone. What that has of the data already, it does not get again.
  DenseCost near = inside(s, 2, 2 * (s.members - 1), 2 * (s.members - 1) * part, s.sums * s.bytes, s.ranks / 2);
  const double passed_on = s.members - std::ceil(s.members / s.home);  // lanes that are not the root's
  near.all.node_messages = s.members * (s.ranks - s.nodes) + s.sums * passed_on;
  near.all.node_bytes = near.all.node_messages * part;
  near.all.combined_bytes = s.sums * s.ranks * s.bytes;
  far.all.combined_bytes = s.sums * (s.nodes - 1) * s.bytes;
  return add(near, far);
}

DenseCost ordered(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  DenseCost cost;
  if (s.nodes > 1) cost = add(cost, pipeline(s, settings, 1, 1, s.nodes - 1, true));
  if (s.members > 1) cost = add(cost, pipeline(s, settings, 1, 1, (s.members - 1) * s.nodes, false));
  const Rank last = layout.ranks() - 1;  // which has the result of a reduction
  if (facts.kind != Dense::reduce || facts.root == last) return cost;
  const bool crosses = layout.region(facts.root) != layout.region(last);
  (crosses ? cost.all.network_messages : cost.all.node_messages) += segments(settings, s.bytes);
  (crosses ? cost.all.network_bytes : cost.all.node_bytes) += s.bytes;
  return cost;
}

}  // namespace tree

namespace allreduce {

DenseCost recursive_doubling(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  Counting counting(layout);
  Pairs pairs(counting, layout.ranks());
  pairs.fold(s.bytes, false);
  for (Rank distance = 1; distance < pairs.numbers(); distance *= 2) pairs.exchange(distance, s.bytes);
  pairs.fold(s.bytes, true);
  return counting.cost((rounds(s.ranks) + 1) * s.bytes);
}

DenseCost ring(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  Counting counting(layout);
  shift(counting, layout.ranks(), 1, s.bytes / s.ranks);
  DenseCost cost = times(counting.cost(0), 2 * (s.ranks - 1));
  cost.combined_bytes = (2 - 1 / s.ranks) * s.bytes;
  cost.all.combined_bytes = cost.combined_bytes * s.ranks;
  return cost;
}

DenseCost rabenseifner(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  Counting counting(layout);
  Pairs pairs(counting, layout.ranks());
  const auto numbers = static_cast<double>(pairs.numbers());
  pairs.fold(s.bytes, false);
  for (Rank half = pairs.numbers() / 2; half > 0; half /= 2) pairs.exchange(half, s.bytes * half / numbers);
  for (Rank half = 1; half < pairs.numbers(); half *= 2) pairs.exchange(half, s.bytes * half / numbers);
  pairs.fold(s.bytes, true);
  return counting.cost(s.bytes * (s.ranks > numbers ? 3 : 2));
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double numbers = std::exp2(std::floor(std::log2(s.nodes)));
  const double folded = s.nodes - numbers;  // which take no part
  const double doubling = std::log2(numbers);
  const double far = folded_rounds(s.nodes);
  const double busiest = doubling + (folded > 0 ? 1 : 0);
  DenseCost between = across(s, far, busiest, busiest * s.bytes, 1, busiest * s.bytes);
  between.all.network_messages = numbers * doubling + 2 * folded;
  between.all.network_bytes = between.all.network_messages * s.bytes;
  between.all.network_waits = between.all.network_messages;
  between.all.combined_bytes = (numbers * doubling + folded) * s.bytes;
  return add(up_and_down(s, settings.is_short(facts.bytes), segments(settings, s.bytes)), between);
}

DenseCost multi_lane(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  const double lanes = parts_among(facts, s.members);
  const double part = s.bytes / lanes;
  const double pieces = segments(settings, part);
  const bool is_ring = is_for_rings(layout.regions(), static_cast<std::int64_t>(part / pieces));
  const double numbers = std::exp2(std::floor(std::log2(s.nodes)));
  const double more = is_ring || numbers == s.nodes ? 0 : 1;  // vectors that are folded, and unfolded
  const double far = is_ring ? 2 * (s.nodes - 1) : 2 * std::log2(numbers) + 2 * more;
  const double bytes = is_ring ? 2 * part * (1 - 1 / s.nodes) : part * (2 * (1 - 1 / numbers) + more);
  DenseCost between = across(s, far, far * pieces, bytes, lanes, part * (1 + more));
  // Ranks of nodes that are smaller than the largest have several lanes.
  between.all.network_messages = s.nodes * lanes * far * pieces;
  between.all.network_bytes = s.nodes * lanes * bytes;
  between.all.combined_bytes = (s.nodes - 1) * s.bytes;
  // A part's owner has to do with all others of its node.
  const double others = s.members - 1;
  DenseCost near = inside(s, others > 0 ? 2 : 0, 2 * others * pieces, 2 * others * part, s.members * part);
  near.all.node_messages = 2 * lanes * (s.ranks - s.nodes) * pieces;
  near.all.node_bytes = near.all.node_messages / pieces * part;
  near.all.node_waits = others > 0 ? s.nodes * lanes + s.ranks : 0;
  near.all.combined_bytes = s.ranks * s.bytes;
  return add(near, between);
}

DenseCost locality_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  const Shape s(facts, layout);
  Rank least = layout.largest();
  for (Rank region = 0; region < layout.regions(); ++region) least = std::min(least, layout.size(region));
  DenseCost cost = up_and_down(s, settings.is_short(facts.bytes), segments(settings, s.bytes));
  const auto step = [&](double radix) {
    const double met = radix - 2;  // members that the leader sends to, and hears from
    if (met > 0) cost = add(cost, inside(s, 2, 2 * met, 2 * met * s.bytes, 0, s.nodes));
    // Leaders combine in the order of nodes. All but the first put what comes in another place before.
    const double copied = radix - 1 + 2 * (1 - 1 / radix);
    DenseCost between = across(s, 1, 1, s.bytes, radix - 1, copied * s.bytes);
    between.all.combined_bytes = s.nodes * copied * s.bytes;
    cost = add(cost, between);
  };
  double core = 1;
  for (; core * (least + 1.0) <= s.nodes; core *= least + 1.0) step(least + 1.0);
  const double rest = std::floor(s.nodes / core);
  if (rest > 1) step(rest);
  if (core * rest < s.nodes) cost = add(cost, across(s, 2, 2, s.bytes, 1, s.bytes));
  return cost;
}

DenseCost ordered(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double parts = parts_among(facts, s.ranks);
  const double part = s.bytes / parts;
  const double others = s.members - 1;
  DenseCost cost = add(inside(s, 2, 2 * others, 2 * others * part, (s.ranks - 1) * part),
                       across(s, s.nodes > 1 ? 2 : 0, 2 * s.outside, 2 * s.outside * part, s.members));
  const double owners = parts / s.ranks;  // of all ranks
  cost.all.node_messages = 2 * owners * s.inside_pairs;
  cost.all.node_bytes = cost.all.node_messages * part;
  cost.all.node_waits = parts + s.ranks;
  cost.all.network_messages = 2 * owners * s.across_pairs;
  cost.all.network_bytes = cost.all.network_messages * part;
  cost.all.network_waits = s.nodes > 1 ? parts + s.ranks : 0;
  cost.all.combined_bytes = parts * (s.ranks - 1) * part;
  return cost;
}

}  // namespace allreduce

namespace reduce_scatter {

DenseCost pairwise(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double part = s.bytes / s.ranks;
  DenseCost cost = add(inside(s, 1, s.members - 1, (s.members - 1) * part, s.bytes),
                       across(s, s.nodes > 1 ? 1 : 0, s.outside, s.outside * part, s.members));
  count_pairs(cost, s, part);
  return cost;
}

DenseCost ring(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  DenseCost cost = allreduce::ring(facts, layout, settings);
  const double copied = 2 * static_cast<double>(facts.bytes);
  cost = times(cost, 0.5);
  cost.combined_bytes = copied;
  cost.all.combined_bytes = copied * layout.ranks();
  return cost;
}

DenseCost recursive_halving(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  DenseCost cost = allreduce::rabenseifner(facts, layout, settings);
  const double copied = 2 * static_cast<double>(facts.bytes);
  cost = times(cost, 0.5);
  cost.combined_bytes = copied;
  cost.all.combined_bytes = copied * layout.ranks();
  return cost;
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double part = s.bytes / s.ranks;
  DenseCost near = inside(s, 1, 2 * (s.members - 1), (s.members - 1) * part * s.nodes, s.bytes);
  near.all.node_messages = 2 * s.inside_pairs;
  near.all.node_bytes = (s.ranks - s.nodes) * s.bytes;
  return add(near, across(s, s.nodes > 1 ? 1 : 0, s.nodes - 1, (s.nodes - 1) * part, s.members));
}

}  // namespace reduce_scatter

namespace scan {

DenseCost recursive_doubling(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  Counting counting(layout);
  for (Rank distance = 1; distance < layout.ranks(); distance *= 2) {
    for (Rank rank = 0; rank + distance < layout.ranks(); ++rank) counting.message(rank, rank + distance, s.bytes);
    counting.end_round();
  }
  return along_ways(counting.cost(rounds(s.ranks) * s.bytes), layout);
}

DenseCost linear(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings) {
  return tree::ordered(facts, layout, settings);
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  const double near = rounds(s.members);
  const double far = rounds(s.nodes);
  DenseCost inner = inside(s, 2 * near, 2 * near, 2 * near * s.bytes, (near + 1) * s.bytes);
  DenseCost outer = across(s, far, far, far * s.bytes, 1, far * s.bytes);
  inner.all.node_messages = s.ranks - s.home;  // down the trees of all nodes but the first, of which no leader gets
  for (Rank region = 0; region < layout.regions(); ++region) {
    if (region > 0) inner.all.node_messages -= 1;
    for (Rank distance = 1; distance < layout.size(region); distance *= 2)
      inner.all.node_messages += layout.size(region) - distance;
  }
  inner.all.node_bytes = inner.all.node_messages * s.bytes;
  outer.all.network_messages = 0;
  for (Rank distance = 1; distance < layout.regions(); distance *= 2)
    outer.all.network_messages += layout.regions() - distance;
  outer.all.network_bytes = outer.all.network_messages * s.bytes;
  return add(inner, outer);
}

}  // namespace scan

namespace barrier {

DenseCost dissemination(const DenseFacts&, const Layout& layout, const DenseSettings&) {
  Counting counting(layout);
  for (Rank distance = 1; distance < layout.ranks(); distance *= 2) shift(counting, layout.ranks(), distance, 1);
  return along_ways(counting.cost(0), layout);
}

DenseCost node_aware(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  DenseCost near = inside(s, s.members > 1 ? 2 : 0, 2 * (s.members - 1), 2 * (s.members - 1), 0, s.nodes);
  near.all.node_messages = near.all.node_bytes = 2 * (s.ranks - s.nodes);
  return add(near, across(s, rounds(s.nodes), rounds(s.nodes), rounds(s.nodes), 1));
}

}  // namespace barrier

}  // namespace laneway::dense::costs
