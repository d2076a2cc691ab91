#include "collectives/costs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "collectives/counting.hpp"
#include "collectives/groups.hpp"

namespace laneway::dense::costs {

namespace {

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

DenseCost times(const DenseCost& one, double n) {
  DenseCost cost = one;
  for (double* number :
       {&cost.node_rounds, &cost.node_messages, &cost.node_bytes, &cost.network_rounds, &cost.network_messages,
        &cost.network_bytes, &cost.injected_bytes, &cost.injected_messages, &cost.combined_bytes,
        &cost.all.node_messages, &cost.all.node_bytes, &cost.all.node_waits, &cost.all.network_messages,
        &cost.all.network_bytes, &cost.all.network_waits, &cost.all.combined_bytes})
    *number *= n;
  return cost;
}

DenseCost one_way(DenseCost cost) {
  cost.ways = 1;
  return cost;
}

/// `doing`: ranks of all nodes that do as much as the busiest; negative: all.
DenseCost inside(const Shape& s, double rounds, double messages, double bytes, double combined = 0, double doing = -1) {
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
DenseCost across(const Shape& s, double rounds, double messages, double bytes, double senders, double combined = 0) {
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
DenseCost along_ways(DenseCost cost, const Layout& layout) {
  const double all = rounds(layout.ranks());
  const double near = std::min(rounds(layout.largest()), all);
  for (Rank region = 0; region < layout.regions(); ++region)
    if (layout.members(region).back() - layout.leader(region) + 1 != layout.size(region)) return cost;
  if (layout.regions() > 1) cost.network_rounds = std::min(cost.network_rounds, all - near + (near > 0 ? 1 : 0));
  cost.node_rounds = all - cost.network_rounds;
  return cost;
}

double segments(const DenseSettings& settings, double bytes) {
  return settings.segment_bytes > 0 ? std::max(1.0, std::ceil(bytes / static_cast<double>(settings.segment_bytes))) : 1;
}

/// Ranks that a tree in each node keeps busy in each of its rounds, of all nodes.
double in_trees(const Shape& s) {
  return s.members > 1 ? (s.ranks - s.nodes) / rounds(s.members) : 0;
}

/// Of messages that each rank sends to all others.
void count_pairs(DenseCost& cost, const Shape& s) {
  cost.all.node_messages = s.inside_pairs;
  cost.all.node_bytes = s.inside_pairs * s.bytes;
  cost.all.network_messages = s.across_pairs;
  cost.all.network_bytes = s.across_pairs * s.bytes;
}

/// Up a tree in each node, and down again.
DenseCost up_and_down(const Shape& s, bool is_short, double pieces) {
  const TreeShape tree(s.members, is_short ? short_radix_inside : 2);
  const double messages = 2 * tree.children * pieces;
  DenseCost cost = inside(s, 2 * tree.levels, messages, 2 * tree.children * s.bytes, tree.children * s.bytes, 0);
  const double members = s.ranks - s.nodes;  // that are no leaders
  cost.all.node_messages = 2 * members * pieces;
  cost.all.node_bytes = 2 * members * s.bytes;
  cost.all.node_waits = members + s.nodes * tree.parents;
  const double copies = members == 0 ? s.nodes : is_short ? s.nodes * tree.parents : 0;  // of operands, before sums
  cost.all.combined_bytes = (members + copies) * s.bytes;
  return cost;
}

/// Parts of whole elements into which a vector is cut among so many ranks.
double parts_among(const DenseFacts& facts, double ranks) {
  const auto elements = static_cast<double>(facts.bytes / std::max<std::int64_t>(facts.element_bytes, 1));
  return std::clamp(elements, 1.0, std::max(ranks, 1.0));
}

/// Of doubling, where those beyond a power of two leave their data to others first, and get it back.
double folded_rounds(double n) {
  if (n <= 1) return 0;
  const double whole = std::floor(std::log2(n));
  return std::exp2(whole) == n ? whole : whole + 2;
}

/// At most so many parts as a node has ranks.
double parts_of(const Shape& s, const DenseSettings& settings) {
  return std::clamp<double>(settings.leaders, 1, s.members);
}

}  // namespace

namespace alltoall {

DenseCost pairwise(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  DenseCost cost = add(inside(s, s.members - 1, s.members - 1, (s.members - 1) * s.bytes),
                       across(s, s.outside, s.outside, s.outside * s.bytes, s.members));
  count_pairs(cost, s);
  return cost;
}

DenseCost nonblocking(const DenseFacts& facts, const Layout& layout, const DenseSettings&) {
  const Shape s(facts, layout);
  DenseCost cost = across(s, s.nodes > 1 ? 1 : 0, s.outside, s.outside * s.bytes, s.members);
  cost.at_once = s.outside > 1;
  cost = add(inside(s, s.members > 1 ? 1 : 0, s.members - 1, (s.members - 1) * s.bytes), cost);
  count_pairs(cost, s);
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
  DenseCost gathered = inside(s, 1, s.members - 1, (s.members - 1) * s.bytes, 0, s.nodes);
  gathered.all.node_messages = s.ranks - s.nodes;
  gathered.all.node_bytes = (s.ranks - s.nodes) * s.bytes;
  Counting counting(layout);
  gather_between_leaders(counting, layout, s.bytes);
  return add(add(gathered, inside(s, steps, steps * pieces, steps * s.ranks * s.bytes, 0, in_trees(s))),
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
  DenseCost near = inside(s, 1, s.members - 1, (s.members - 1) * s.bytes, 0, s.nodes);
  near.all.node_messages = s.ranks - s.nodes;
  near.all.node_bytes = (s.ranks - s.nodes) * s.bytes;
  return one_way(add(near, from_elsewhere(s, s.nodes - 1)));
}

}  // namespace gather

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
  cost.all.node_messages = s.inside_pairs;
  cost.all.node_bytes = s.inside_pairs * part;
  cost.all.network_messages = s.across_pairs;
  cost.all.network_bytes = s.across_pairs * part;
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
