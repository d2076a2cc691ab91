#include <vector>

#include "algorithms/collective/rules/rules.hpp"

namespace laneway::dense {

void combine_in_order(PlanWriter& writer, const DenseCall& call, const Layout& layout,
                      const std::function<Segment(Rank)>& piece, const Segment& result) {
  const Rank n = layout.ranks();
  const std::int64_t bytes = result.ranges.bytes();
  const std::int8_t how = writer.combination(call.combination);
  std::vector<Segment> operands;  // by rank
  for (Rank rank = 0; rank < n; ++rank) operands.push_back(staged(writer, bytes));
  writer.move(piece(call.rank), operands[static_cast<std::size_t>(call.rank)]);
  for (Rank i = 1; i < n; ++i) {
    const Rank from = (call.rank - i + n) % n;
    const Rank to = (call.rank + i) % n;
    writer.receive(from, {operands[static_cast<std::size_t>(from)]});
    writer.send(to, {piece(to)});
  }
  writer.move(operands.front(), result);
  for (std::size_t i = 1; i < operands.size(); ++i) writer.combine(operands[i], result, how);
}

namespace reduce_scatter {

namespace {

/// The vector of the call's rank, and as much memory in which rules may work.
struct Copy {
  Segment all;
  Segment data;
  Cuts cuts;  // of both, by rank

  Copy(PlanWriter& writer, const DenseCall& call, const Layout& layout) : all{input(call, 0).buffer, {}} {
    cuts.at.push_back(0);
    for (Rank rank = 0; rank < layout.ranks(); ++rank) {
      all.ranges.append(input(call, rank).ranges);
      cuts.at.push_back(all.ranges.bytes());
    }
    data = staged(writer, all.ranges.bytes());
  }
};
Copy copy_of_vector(PlanWriter& writer, const DenseCall& call, const Layout& layout) {
  Copy copy(writer, call, layout);
  writer.move(copy.all, copy.data);
  return copy;
}

/// Of an allreduce, on a copy of the vector.
DenseCost half_of(const DenseCost& whole, const Shape& s) {
  DenseCost cost = times(whole, 0.5);
  cost.combined_bytes = 2 * s.bytes;
  cost.all.combined_bytes = cost.combined_bytes * s.ranks;
  return cost;
}

}  // namespace

void pairwise(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  combine_in_order(
      writer, call, layout, [&](Rank rank) { return input(call, rank); }, output(call, 0));
}

DenseCost pairwise_cost(const Shape& s) {
  const double part = s.bytes / s.ranks;
  DenseCost cost = add(inside(s, 1, s.members - 1, (s.members - 1) * part, s.bytes),
                       across(s, s.nodes > 1 ? 1 : 0, s.outside, s.outside * part, s.members));
  count_pairs(cost, s, part);
  return cost;
}

void ring(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Copy copy = copy_of_vector(writer, call, layout);
  reduce_scatter_ring(writer, everyone(layout, call.rank), copy.data, copy.cuts, call.combination);
  writer.move(part(copy.data, copy.cuts, call.rank), output(call, 0));
}

DenseCost ring_cost(const Shape& s) {
  return half_of(allreduce::ring_cost(s), s);
}

void recursive_halving(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Copy copy = copy_of_vector(writer, call, layout);
  reduce_scatter_halving(writer, everyone(layout, call.rank), copy.data, copy.cuts, call.combination);
  writer.move(part(copy.data, copy.cuts, call.rank), output(call, 0));
}

DenseCost recursive_halving_cost(const Shape& s) {
  return half_of(allreduce::rabenseifner_cost(s), s);
}

/// The transpose of allgather's multi_lane: the members of a node combine what they have for a rank elsewhere at the
/// one that has its lane, which sends the sum.
void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Group region = region_of(layout, call.rank);
  const Rank home = layout.region(call.rank);
  const Rank n = layout.regions();
  const std::int8_t how = writer.combination(call.combination);
  const auto has_lane = [&](Rank member, Rank rank) { return owner(layout, home, layout.index(rank)) == member; };
  // What the members have for ranks elsewhere, by the one that has their lanes.
  const auto for_others = [&](Rank member) {
    Segment all{input(call, 0).buffer, {}};
    for (Rank i = 1; i < n; ++i)
      for (const Rank rank : layout.members((home + i) % n))
        if (has_lane(member, rank)) all.ranges.append(input(call, rank).ranges);
    return all;
  };
  const Segment own = for_others(call.rank);
  const Segment sum = staged(writer, own.ranges.bytes());
  const Segment mine = input(call, call.rank);
  writer.move(own, sum);
  std::vector<Segment> arrived;
  const auto receive_mine = [&](Rank from) {
    arrived.push_back(staged(writer, mine.ranges.bytes()));
    writer.receive(from, {arrived.back()});
  };
  for (Rank i = 1; i < region.size(); ++i) {
    const Rank to = region.around(region.me + i);
    const Rank from = region.around(region.me - i);
    receive_mine(from);
    writer.send(to, {input(call, to)});
    const Segment theirs = staged(writer, sum.ranges.bytes());
    writer.receive(from, {theirs});
    writer.send(to, {for_others(to)});
    writer.combine(theirs, sum, how);
  }
  std::int64_t at = 0;
  for (Rank i = 1; i < n; ++i) {
    for (const Rank rank : layout.members((home + i) % n)) {
      if (!has_lane(call.rank, rank)) continue;
      const std::int64_t bytes = input(call, rank).ranges.bytes();
      writer.send(rank, {part(sum, at, bytes)});
      at += bytes;
    }
    receive_mine(owner(layout, (home - i + n) % n, region.me));
  }
  // In place the result may overlap what this rank has for it.
  const Segment result = call.in_place ? staged(writer, mine.ranges.bytes()) : output(call, 0);
  writer.move(mine, result);
  for (const Segment& operand : arrived) writer.combine(operand, result, how);
  writer.move(result, output(call, 0));
}

DenseCost node_aware_cost(const Shape& s) {
  const double part = s.bytes / s.ranks;
  DenseCost near = inside(s, 1, 2 * (s.members - 1), (s.members - 1) * part * s.nodes, s.bytes);
  near.all.node.messages = 2 * s.inside_pairs;
  near.all.node.bytes = (s.ranks - s.nodes) * s.bytes;
  return add(near, across(s, s.nodes > 1 ? 1 : 0, s.nodes - 1, (s.nodes - 1) * part, s.members));
}

/// Short vectors are not worth the messages of their parts: leaders have sums of whole ones, and give each rank its
/// part.
void hierarchical(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Copy copy(writer, call, layout);
  const Group region = region_of(layout, call.rank);
  const Rank leader = region.rank(0);
  const bool is_short = settings.is_short(copy.all.ranges.bytes());
  reduce(writer, tree_inside(is_short)(region, 0), copy.all, copy.data, call.combination, settings.segment_bytes,
         is_short);
  allreduce_doubling(writer, leaders_of(layout, leader, call.rank), copy.data, call.combination);
  if (call.rank != leader) {
    writer.receive(leader, {output(call, 0)});
    return;
  }
  for (const Rank member : region.ranks)
    if (member != leader) writer.send(member, {part(copy.data, copy.cuts, member)});
  writer.move(part(copy.data, copy.cuts, leader), output(call, 0));
}

DenseCost hierarchical_cost(const Shape& s) {
  const TreeShape tree(s.members, s.is_short() ? short_radix_inside : 2);
  const double pieces = segments(s, s.bytes);
  const double part = s.bytes / s.ranks;
  const double others = s.members - 1;
  DenseCost near = inside(s, tree.levels + (others > 0 ? 1 : 0), tree.children * pieces + others,
                          tree.children * s.bytes + others * part, tree.children * s.bytes, 0);
  const double members = s.ranks - s.nodes;  // that are no leaders
  near.all.node = {members * (pieces + 1), members * (s.bytes + part), s.nodes * tree.parents + members};
  near.all.combined_bytes = members * s.bytes;
  return add(near, allreduce::between_leaders_cost(s));
}

std::vector<DenseRule> rules() {
  return {
      {Dense::reduce_scatter, "pairwise", "each part goes to its rank, which combines in the order of ranks",
       cited::mpich, DenseTraits{.in_order = true}, pairwise, pairwise_cost},
      {Dense::reduce_scatter, "ring", "the transpose of that of allgather", cited::mpich, relays, ring, ring_cost},
      {Dense::reduce_scatter, "recursive_halving", "in log2 rounds of half as much each", cited::mpich, relays,
       recursive_halving, recursive_halving_cost},
      {Dense::reduce_scatter, "node_aware", "the transpose of multi_lane of allgather", cited::multi_lane, relays,
       node_aware, node_aware_cost},
      {Dense::reduce_scatter, "hierarchical", "one leader a node, whose ranks get their parts of its sum from it",
       cited::all_to_all, relays, hierarchical, hierarchical_cost},
  };
}

}  // namespace reduce_scatter

}  // namespace laneway::dense
