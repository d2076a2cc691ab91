#include <algorithm>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

namespace laneway::dense::allreduce {

namespace {

/// The result's place, where this rank's operand is put first.
Segment started(PlanWriter& writer, const DenseCall& call) {
  const Segment sum = output(call, 0);
  writer.move(input(call, 0), sum);
  return sum;
}

/// Parts of whole elements into which a vector is cut among so many ranks.
double parts_among(const Shape& s, double ranks) {
  const std::int64_t elements = s.facts.bytes / std::max<std::int64_t>(s.facts.element_bytes, 1);
  return std::clamp(static_cast<double>(elements), 1.0, std::max(ranks, 1.0));
}

/// Of an allreduce of a whole vector in a group: what the member does that has most to do, and what all do together.
struct WholeCost {
  Flow busiest;
  double combined = 0;
  Flow all;
  double all_combined = 0;

  WholeCost(Rank members, std::int64_t bytes, bool is_short) {
    if (members < 2) return;
    const double n = members;
    const auto whole = static_cast<double>(bytes);
    if (!is_short && is_for_rings(members, bytes)) {
      busiest = {2 * (n - 1), 2 * whole * (1 - 1 / n), 2 * (n - 1)};
      all = {n * busiest.messages, n * busiest.bytes, n * busiest.waits};
      combined = whole * (1 - 1 / n);
      all_combined = n * combined;
      return;
    }
    const double numbers = std::exp2(std::floor(std::log2(n)));
    const double folded = n - numbers;  // which leave their vector to another one first
    const double more = folded > 0 ? 1 : 0;
    const double times = std::log2(numbers) * (is_short ? 1 : 2);
    const double sent = whole * (is_short ? times : 2 * (1 - 1 / numbers));
    const double sums = is_short ? sent : sent / 2;
    busiest = {times + more, sent + more * whole, times + 2 * more};
    all = {numbers * times + 2 * folded, numbers * sent + 2 * folded * whole, numbers * times + 2 * folded};
    combined = sums + more * whole;
    all_combined = numbers * sums + folded * whole;
  }
};

/// So many times at once, each among one rank of each node.
DenseCost along_lanes(const Shape& s, const WholeCost& lane, double lanes) {
  DenseCost cost = across(s, lane.busiest.waits, lane.busiest.messages, lane.busiest.bytes, lanes, lane.combined);
  cost.all = {};
  cost.all.network.add(lane.all, lanes);
  cost.all.combined_bytes = lane.all_combined * lanes;
  return cost;
}

}  // namespace

void recursive_doubling(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  allreduce_doubling(writer, everyone(layout, call.rank), started(writer, call), call.combination);
}

DenseCost recursive_doubling_cost(const Shape& s) {
  return count_exchanges(s.layout, 1, each_round(s.bytes), s.bytes, (rounds(s.ranks) + 1) * s.bytes);
}

/// R. Rabenseifner: Optimization of collective reduction operations, ICCS 2004.
void rabenseifner(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  allreduce_halves(writer, everyone(layout, call.rank), started(writer, call), call.combination);
}

DenseCost rabenseifner_cost(const Shape& s) {
  const double numbers = std::exp2(std::floor(std::log2(s.ranks)));
  const RoundBytes bytes = bytes_of_rounds([&](Rank half) { return s.bytes * half / numbers; });
  return count_exchanges(s.layout, 2, bytes, s.bytes, s.bytes * (s.ranks > numbers ? 3 : 2));
}

void ring(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Segment sum = started(writer, call);
  const Group group = everyone(layout, call.rank);
  const Cuts cuts = cut_evenly(sum.ranges.bytes(), call.combination.element_bytes, group.size());
  reduce_scatter_ring(writer, group, sum, cuts, call.combination);
  std::vector<Segment> parts;
  for (Rank i = 0; i < group.size(); ++i) parts.push_back(part(sum, cuts, i));
  allgather_ring(writer, group, parts);
}

DenseCost ring_cost(const Shape& s) {
  DenseCost cost = times(count_steps(s.layout, 1, true, each_round(s.bytes / s.ranks), 0), 2 * (s.ranks - 1));
  cost.combined_bytes = (2 - 1 / s.ranks) * s.bytes;
  cost.all.combined_bytes = cost.combined_bytes * s.ranks;
  return cost;
}

void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Group region = region_of(layout, call.rank);
  const Segment sum = output(call, 0);
  const bool is_short = settings.is_short(sum.ranges.bytes());
  const Tree tree = tree_inside(is_short)(region, 0);
  reduce(writer, tree, input(call, 0), sum, call.combination, settings.segment_bytes, is_short);
  const Rank leader = region.rank(0);
  allreduce_doubling(writer, leaders_of(layout, leader, call.rank), sum, call.combination);
  broadcast(writer, tree, sum, settings.segment_bytes);
}

DenseCost between_leaders_cost(const Shape& s) {
  return along_lanes(s, WholeCost(s.layout.regions(), s.facts.bytes, true), 1);
}

DenseCost node_aware_cost(const Shape& s) {
  return add(up_and_down(s, s.is_short(), segments(s, s.bytes)), between_leaders_cost(s));
}

/// J. L. Traeff, S. Hunold, CLUSTER 2020: reduce_scatter on the node, allreduce along lanes, allgather on the node.
/// Where nodes differ in size, the smaller ones' ranks have several lanes. Of large vectors the phases of one piece
/// overlap those of the next.
void multi_lane(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment all = output(call, 0);
  const std::int64_t element = call.combination.element_bytes;
  const Cuts pieces = cut_to_segments(all.ranges.bytes(), element, settings.segment_bytes * layout.largest());
  for (Rank piece = 0; piece < pieces.parts(); ++piece) {
    const Segment sum = part(all, pieces, piece);
    const Cuts cuts = cut_evenly(sum.ranges.bytes(), element, layout.largest());
    reduce_on_node(writer, layout, call.rank, part(input(call, 0), pieces, piece), sum, cuts, call.combination);
    for (Rank lane = 0; lane < cuts.parts(); ++lane)
      allreduce_lane(writer, lane_of(layout, lane, call.rank), part(sum, cuts, lane), call.combination);
    share_on_node(writer, layout, call.rank, sum, cuts);
  }
}

DenseCost multi_lane_cost(const Shape& s) {
  const double lanes = parts_among(s, s.members);
  const double part = s.bytes / lanes;
  const double pieces = segments(s, part);
  const bool is_ring = is_for_rings(s.layout.regions(), static_cast<std::int64_t>(part / pieces));
  const double numbers = std::exp2(std::floor(std::log2(s.nodes)));
  const double more = is_ring || numbers == s.nodes ? 0 : 1;  // vectors that are folded, and unfolded
  const double far = is_ring ? 2 * (s.nodes - 1) : 2 * std::log2(numbers) + 2 * more;
  const double bytes = is_ring ? 2 * part * (1 - 1 / s.nodes) : part * (2 * (1 - 1 / numbers) + more);
  DenseCost between = across(s, far, far * pieces, bytes, lanes, part * (1 + more));
  // Ranks of nodes that are smaller than the largest have several lanes.
  between.all.network.messages = s.nodes * lanes * far * pieces;
  between.all.network.bytes = s.nodes * lanes * bytes;
  between.all.combined_bytes = (s.nodes - 1) * s.bytes;
  // A part's owner has to do with all others of its node.
  const double others = s.members - 1;
  DenseCost near = inside(s, others > 0 ? 2 : 0, 2 * others * pieces, 2 * others * part, s.members * part);
  const double copies = 2 * lanes * (s.ranks - s.nodes);
  const double waits = others > 0 ? s.nodes * lanes + s.ranks : 0;
  near.all = {{copies * pieces, copies * part, waits}, {}, s.ranks * s.bytes};
  return add(near, between);
}

namespace {

/// What the members of a group do in an allreduce of a whole vector: in rounds that exchange all of it where it is
/// short, else by parts.
void allreduce_whole(PlanWriter& writer, const Group& group, const Segment& data, const Combination& how,
                     bool is_short) {
  is_short ? allreduce_doubling(writer, group, data, how) : allreduce_lane(writer, group, data, how);
}

}  // namespace

/// M. Adams, A. Bienz: allreduce on the node, then each rank with its peers on the other nodes. All lanes combine the
/// same node sums in the same order, so that all ranks get the same bits and nothing has to be shared afterwards. Only
/// where nodes differ in size some ranks have no peer on the smallest: they leave their vector to one that has, and get
/// the result from it.
void locality_peers(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment sum = started(writer, call);
  const bool is_short = settings.is_short(sum.ranges.bytes());
  const Rank lanes = layout.smallest();
  const Rank home = layout.region(call.rank);
  const Rank index = layout.index(call.rank);
  if (index >= lanes) {
    writer.send(layout.member(home, index % lanes), {sum});
    writer.receive(layout.member(home, index % lanes), {sum});
    return;
  }
  for (Rank other = index + lanes; other < layout.size(home); other += lanes) {
    const Segment arrived = staged(writer, sum.ranges.bytes());
    writer.receive(layout.member(home, other), {arrived});
    writer.combine(arrived, sum, writer.combination(call.combination));
  }
  std::vector<Rank> inside = region_of(layout, call.rank).ranks;
  inside.resize(static_cast<std::size_t>(lanes));
  allreduce_whole(writer, group_of(std::move(inside), call.rank), sum, call.combination, is_short);
  if (layout.regions() > 1) allreduce_whole(writer, lane_of(layout, index, call.rank), sum, call.combination, is_short);
  for (Rank other = index + lanes; other < layout.size(home); other += lanes)
    writer.send(layout.member(home, other), {sum});
}

DenseCost locality_peers_cost(const Shape& s) {
  DenseCost near;
  near.combined_bytes = s.bytes;
  near.all.combined_bytes = s.ranks * s.bytes;
  const Rank lanes = s.layout.smallest();
  for (const Layout::Run& run : s.layout.runs()) {
    const WholeCost inside(lanes, s.facts.bytes, s.is_short());
    const double peerless = run.size - lanes;
    const double handed = std::ceil(peerless / lanes);  // to one rank, and back
    Flow own = inside.busiest;
    own.add({2 * handed, 2 * handed * s.bytes, handed > 0 ? 2.0 : 0.0});
    near.node.raise(own);
    near.combined_bytes = std::max(near.combined_bytes, s.bytes * (1 + handed) + inside.combined);
    near.all.node.add(inside.all, run.regions);
    near.all.node.add({2 * peerless, 2 * peerless * s.bytes, 2 * peerless}, run.regions);
    near.all.combined_bytes += (inside.all_combined + peerless * s.bytes) * run.regions;
  }
  return add(near, along_lanes(s, WholeCost(s.layout.regions(), s.facts.bytes, s.is_short()), lanes));
}

/// Each rank combines its part of all operands in the order of ranks: the results are canonical.
void ordered(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Segment own = input(call, 0);
  const Segment result = output(call, 0);
  const Rank n = layout.ranks();
  const Cuts cuts = cut_evenly(own.ranges.bytes(), call.combination.element_bytes, n);
  const auto piece = [&](Rank rank) { return part(own, cuts, rank); };
  combine_in_order(writer, call, layout, piece, part(result, cuts, call.rank));
  for (Rank i = 1; i < n; ++i) {
    const Rank from = (call.rank - i + n) % n;
    writer.receive(from, {part(result, cuts, from)});
    writer.send((call.rank + i) % n, {part(result, cuts, call.rank)});
  }
}

DenseCost ordered_cost(const Shape& s) {
  const double parts = parts_among(s, s.ranks);
  const double part = s.bytes / parts;
  const double others = s.members - 1;
  DenseCost cost = add(inside(s, 2, 2 * others, 2 * others * part, (s.ranks - 1) * part),
                       across(s, s.nodes > 1 ? 2 : 0, 2 * s.outside, 2 * s.outside * part, s.members));
  const double owners = parts / s.ranks;  // of all ranks
  const double near = 2 * owners * s.inside_pairs;
  const double far = 2 * owners * s.across_pairs;
  const double waits = parts + s.ranks;
  cost.all = {{near, near * part, waits}, {far, far * part, s.nodes > 1 ? waits : 0}, parts * (s.ranks - 1) * part};
  return cost;
}

std::vector<DenseRule> rules() {
  return {
      {Dense::allreduce, "recursive_doubling", "in log2 rounds of the whole vector", cited::mpich, relays,
       recursive_doubling, recursive_doubling_cost},
      {Dense::allreduce, "ring", "reduce_scatter and allgather by rings", cited::mpich, relays, ring, ring_cost},
      {Dense::allreduce, "rabenseifner", "reduce_scatter by halves, allgather by doubling",
       "R. Rabenseifner: Optimization of collective reduction operations, ICCS 2004", relays, rabenseifner,
       rabenseifner_cost},
      {Dense::allreduce, "node_aware", "one leader a node", cited::all_to_all, relays, node_aware, node_aware_cost},
      {Dense::allreduce, "multi_lane", "reduce_scatter on nodes, allreduce along lanes, allgather on nodes",
       cited::multi_lane, relays, multi_lane, multi_lane_cost},
      {Dense::allreduce, "locality_peers", "allreduce on nodes, then of each rank with its peers on the other nodes",
       "M. Adams, A. Bienz: Optimizing GPU-aware allreduce operations (talk), Locality-Aware Allreduce", relays,
       locality_peers, locality_peers_cost},
      {Dense::allreduce, "ordered", "each rank combines its part in the order of ranks", cited::canonical,
       DenseTraits{.in_order = true}, ordered, ordered_cost},
  };
}

}  // namespace laneway::dense::allreduce
