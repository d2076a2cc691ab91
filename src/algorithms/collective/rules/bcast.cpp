#include "algorithms/collective/rules/rules.hpp"

namespace laneway::dense::bcast {

void binomial(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  broadcast(writer, dense::binomial(everyone(layout, call.rank), call.root), output(call, 0), 0);
}

/// What a rank sends to several others at once, all of them get at the same time: `rounds` count that for the last one,
/// `bytes` for the busiest rank and node.
DenseCost binomial_cost(const Shape& s) {
  const TreeWays ways = tree_ways(s.layout, s.facts.root);
  DenseCost cost = one_way(count_tree(s.layout, s.facts.root, s.bytes, false));
  cost.network.raise({ways.messages, ways.messages * s.bytes});
  cost.network.waits = ways.crossings;
  cost.node.waits = std::max(rounds(s.ranks) - ways.crossings, 0.0);
  cost.combined_bytes = s.sums * rounds(s.ranks) * s.bytes;
  cost.all.combined_bytes = s.sums * (s.ranks - 1) * s.bytes;
  if (s.sums > 0) {  // upwards, who has children waits, which every second rank has
    cost.all.node.waits /= 2;
    cost.all.network.waits /= 2;
  }
  return cost;
}

void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment data = output(call, 0);
  const bool is_short = settings.is_short(data.ranges.bytes());
  broadcast(writer, over_regions(layout, call.root, call.rank, tree_between(is_short), tree_inside(is_short)), data,
            settings.segment_bytes);
}

DenseCost node_aware_cost(const Shape& s) {
  const bool is_short = s.is_short();
  const TreeShape far(s.nodes, is_short ? short_radix_between : 2);
  const TreeShape near(s.members, is_short ? short_radix_inside : 2);
  DenseCost cost =
      add(pipeline(s, far.levels, far.children, 0, true), pipeline(s, near.levels, near.children, 0, false));
  if (s.sums == 0) return cost;
  // Upwards, who has children waits for all of them together.
  cost.all.network.waits = far.parents;
  cost.all.node.waits = s.nodes * near.parents;
  return cost;
}

/// From node to node, and inside of nodes: all links carry the data once, segment after segment.
void chain(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  broadcast(writer, over_regions(layout, call.root, call.rank, dense::chain, dense::chain), output(call, 0),
            settings.segment_bytes);
}

DenseCost chain_cost(const Shape& s) {
  DenseCost cost;
  if (s.nodes > 1) cost = add(cost, pipeline(s, 1, 1, s.nodes - 2, true));
  if (s.members > 1) cost = add(cost, pipeline(s, 1, 1, s.members - 2, false));
  return cost;
}

/// J. L. Traeff, S. Hunold, CLUSTER 2020: scatter on the root's node, a broadcast on each lane, allgather on each node.
/// Along a lane in a chain where it has several segments: all links carry the data once.
void multi_lane(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment data = output(call, 0);
  const Cuts cuts = cut_evenly(data.ranges.bytes(), 1, layout.largest());
  const Rank source = layout.region(call.root);
  const Rank home = layout.region(call.rank);
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Rank first = owner(layout, source, lane);
    if (first == call.root) continue;
    if (call.rank == call.root) writer.send(first, {part(data, cuts, lane)});
    if (call.rank == first) writer.receive(call.root, {part(data, cuts, lane)});
  }
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Group group = lane_of(layout, lane, call.rank);
    if (group.me < 0) continue;
    const std::int64_t segment = lane_segment(layout, settings.segment_bytes);
    const Tree tree = lane_tree(group, source, cuts.bytes(0), segment);
    broadcast(writer, tree, part(data, cuts, lane), segment);
  }
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Rank from = owner(layout, home, lane);
    if (call.rank != from) {
      if (call.rank != call.root) writer.receive(from, {part(data, cuts, lane)});
      continue;
    }
    for (const Rank member : layout.members(home))
      if (member != call.rank && member != call.root) writer.send(member, {part(data, cuts, lane)});
  }
}

DenseCost multi_lane_cost(const Shape& s) {
  const double part = s.bytes / s.members;
  const auto whole = static_cast<std::int64_t>(std::ceil(part));
  const std::int64_t segment = lane_segment(s.layout, s.settings.segment_bytes);
  const double pieces = segments(segment, part);
  const bool is_chain = segment > 0 && whole > segment;
  const double width = is_chain ? std::min(s.nodes - 1, 1.0) : rounds(s.nodes);
  const double way = is_chain ? std::max(s.nodes - 2, 0.0) : 0;
  DenseCost far = across(s, width + way, width * pieces + way, width * part + way * part / pieces, s.members,
                         s.sums * (width * part + way * part / pieces));
  far.injected = {width * pieces * s.members, width * s.bytes};
  far.all.network = {(s.nodes - 1) * s.members * pieces, (s.nodes - 1) * s.bytes, (s.nodes - 1) * s.members};
  // Of the two steps inside, one is on the root's node alone. What that has of the data already, it does not get again.
  DenseCost near = inside(s, 2, 2 * (s.members - 1), 2 * (s.members - 1) * part, s.sums * s.bytes, s.ranks / 2);
  const double passed_on = s.members - std::ceil(s.members / s.home);  // lanes that are not the root's
  near.all.node.messages = s.members * (s.ranks - s.nodes) + s.sums * passed_on;
  near.all.node.bytes = near.all.node.messages * part;
  near.all.combined_bytes = s.sums * s.ranks * s.bytes;
  far.all.combined_bytes = s.sums * (s.nodes - 1) * s.bytes;
  return add(near, far);
}

std::vector<DenseRule> rules() {
  return {
      {Dense::bcast, "binomial", "along a binomial tree", cited::mpich, relays, binomial, binomial_cost},
      {Dense::bcast, "node_aware", "along a tree of nodes, and trees inside", cited::all_to_all, relays, node_aware,
       node_aware_cost},
      {Dense::bcast, "chain", "from node to node and from rank to rank, in segments", cited::mpich, relays, chain,
       chain_cost},
      {Dense::bcast, "multi_lane", "scatter on a node, along lanes, allgather on nodes", cited::multi_lane, relays,
       multi_lane, multi_lane_cost},
  };
}

}  // namespace laneway::dense::bcast
