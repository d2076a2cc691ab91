#include "algorithms/collective/rules/rules.hpp"

// The transposes of bcast's rules: the same trees upwards, with sums instead of copies.

namespace laneway::dense::reduction {

namespace {

/// A leaf sends its input as it is; others combine in memory of their own, the root in its result.
void up(PlanWriter& writer, const DenseCall& call, const Tree& tree, std::int64_t segment_bytes,
        const DenseSettings& settings) {
  const Segment own = input(call, 0);
  const bool is_leaf = tree.children.empty();
  const Segment sum = tree.parent < 0 ? output(call, 0) : is_leaf ? own : staged(writer, own.ranges.bytes());
  reduce(writer, tree, own, sum, call.combination, segment_bytes, settings.is_short(own.ranges.bytes()));
}

}  // namespace

void direct(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  up(writer, call, flat(everyone(layout, call.rank), call.root), 0, settings);
}

DenseCost direct_cost(const Shape& s) {
  DenseCost cost = gather::direct_cost(s);
  cost.combined_bytes = cost.all.combined_bytes = s.ranks * s.bytes;
  return cost;
}

void binomial(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  up(writer, call, dense::binomial(everyone(layout, call.rank), call.root), 0, settings);
}

void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const bool is_short = settings.is_short(input(call, 0).ranges.bytes());
  up(writer, call, over_regions(layout, call.root, call.rank, tree_between(is_short), tree_inside(is_short)),
     settings.segment_bytes, settings);
}

void chain(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  up(writer, call, over_regions(layout, call.root, call.rank, dense::chain, dense::chain), settings.segment_bytes,
     settings);
}

void multi_lane(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment own = input(call, 0);
  const bool is_root = call.rank == call.root;
  const Segment sum = is_root ? output(call, 0) : staged(writer, own.ranges.bytes());
  const Cuts cuts = cut_evenly(own.ranges.bytes(), call.combination.element_bytes, layout.largest());
  reduce_on_node(writer, layout, call.rank, own, sum, cuts, call.combination);
  const Rank target = layout.region(call.root);
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Group group = lane_of(layout, lane, call.rank);
    if (group.me < 0) continue;
    const std::int64_t segment = lane_segment(layout, settings.segment_bytes);
    const Tree tree = lane_tree(group, target, cuts.bytes(0), segment);
    const Segment combined = part(sum, cuts, lane);
    reduce(writer, tree, combined, combined, call.combination, segment, true);
  }
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Rank last = owner(layout, target, lane);
    if (last == call.root) continue;
    if (is_root) writer.receive(last, {part(sum, cuts, lane)});
    if (call.rank == last) writer.send(call.root, {part(sum, cuts, lane)});
  }
}

/// From rank to rank, each combining its own operand to the right of what has come: the results are canonical.
void ordered(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment own = input(call, 0);
  const Rank last = layout.ranks() - 1;
  const Segment copy = call.rank > 0 ? staged(writer, own.ranges.bytes()) : own;
  writer.move(own, copy);
  const bool ends_here = call.rank == last && call.rank == call.root;
  const Segment sum = ends_here ? output(call, 0) : call.rank > 0 ? staged(writer, own.ranges.bytes()) : own;
  if (last == 0) {
    writer.move(own, output(call, 0));
    return;
  }
  const std::int8_t how = writer.combination(call.combination);
  const Cuts cuts = cut_to_segments(own.ranges.bytes(), call.combination.element_bytes, settings.segment_bytes);
  for (Rank s = 0; s < cuts.parts(); ++s) {
    const Segment piece = part(sum, cuts, s);
    if (call.rank > 0) {
      writer.receive(call.rank - 1, {piece});
      writer.combine(part(copy, cuts, s), piece, how);
    }
    if (call.rank < last)
      writer.send(call.rank + 1, {piece});
    else if (!ends_here)
      writer.send(call.root, {piece});
    if (call.rank == call.root && call.root != last) writer.receive(last, {part(output(call, 0), cuts, s)});
  }
}

DenseCost ordered_cost(const Shape& s) {
  DenseCost cost;
  if (s.nodes > 1) cost = add(cost, pipeline(s, 1, 1, s.nodes - 1, true));
  if (s.members > 1) cost = add(cost, pipeline(s, 1, 1, (s.members - 1) * s.nodes, false));
  const Rank last = s.layout.ranks() - 1;  // which has the result of a reduction
  if (s.facts.kind != Dense::reduce || s.facts.root == last) return cost;
  const bool crosses = s.layout.region(s.facts.root) != s.layout.region(last);
  (crosses ? cost.all.network.messages : cost.all.node.messages) += segments(s, s.bytes);
  (crosses ? cost.all.network.bytes : cost.all.node.bytes) += s.bytes;
  return cost;
}

std::vector<DenseRule> rules() {
  return {
      {Dense::reduce, "direct", "each rank with the root", cited::mpich, DenseTraits{}, direct, direct_cost},
      {Dense::reduce, "binomial", "the transpose of that of bcast", cited::mpich, relays, binomial,
       bcast::binomial_cost},
      {Dense::reduce, "node_aware", "the transpose of that of bcast", cited::all_to_all, relays, node_aware,
       bcast::node_aware_cost},
      {Dense::reduce, "chain", "the transpose of that of bcast", cited::mpich, relays, chain, bcast::chain_cost},
      {Dense::reduce, "multi_lane", "the transpose of that of bcast", cited::multi_lane, relays, multi_lane,
       bcast::multi_lane_cost},
      {Dense::reduce, "ordered", "from rank to rank in their order, in segments", cited::canonical,
       DenseTraits{.in_order = true, .relays = true}, ordered, ordered_cost},
  };
}

}  // namespace laneway::dense::reduction
