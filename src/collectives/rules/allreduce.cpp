#include <algorithm>
#include <vector>

#include "collectives/rules/rules.hpp"

namespace laneway::dense::allreduce {

namespace {

/// The result's place, where this rank's operand is put first.
Segment started(Schedule& schedule, const DenseCall& call) {
  const Segment sum = output(call, 0);
  schedule.move(input(call, 0), sum);
  return sum;
}

}  // namespace

void recursive_doubling(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  allreduce_doubling(schedule, everyone(layout, call.rank), started(schedule, call), call.combination);
}

/// R. Rabenseifner: Optimization of collective reduction operations, ICCS 2004.
void rabenseifner(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  allreduce_halves(schedule, everyone(layout, call.rank), started(schedule, call), call.combination);
}

void ring(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Segment sum = started(schedule, call);
  const Group group = everyone(layout, call.rank);
  const Cuts cuts = cut_evenly(sum.ranges.bytes(), call.combination.element_bytes, group.size());
  reduce_scatter_ring(schedule, group, sum, cuts, call.combination);
  std::vector<Segment> parts;
  for (Rank i = 0; i < group.size(); ++i) parts.push_back(part(sum, cuts, i));
  allgather_ring(schedule, group, parts);
}

void node_aware(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Group region = region_of(layout, call.rank);
  const Segment sum = output(call, 0);
  const bool is_short = settings.is_short(sum.ranges.bytes());
  const Tree tree = tree_inside(is_short)(region, 0);
  reduce(schedule, tree, input(call, 0), sum, call.combination, settings.segment_bytes, is_short);
  const Rank leader = region.rank(0);
  allreduce_doubling(schedule, leaders_of(layout, leader, call.rank), sum, call.combination);
  broadcast(schedule, tree, sum, settings.segment_bytes);
}

/// J. L. Traeff, S. Hunold, CLUSTER 2020: reduce_scatter on the node, allreduce along lanes, allgather on the node.
/// Where nodes differ in size, the smaller ones' ranks have several lanes. Of large vectors the phases of one piece
/// overlap those of the next.
void multi_lane(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment all = output(call, 0);
  const std::int64_t element = call.combination.element_bytes;
  const Cuts pieces = cut_to_segments(all.ranges.bytes(), element, settings.segment_bytes * layout.largest());
  for (Rank piece = 0; piece < pieces.parts(); ++piece) {
    const Segment sum = part(all, pieces, piece);
    const Cuts cuts = cut_evenly(sum.ranges.bytes(), element, layout.largest());
    reduce_on_node(schedule, layout, call.rank, part(input(call, 0), pieces, piece), sum, cuts, call.combination);
    for (Rank lane = 0; lane < cuts.parts(); ++lane)
      allreduce_lane(schedule, lane_of(layout, lane, call.rank), part(sum, cuts, lane), call.combination);
    share_on_node(schedule, layout, call.rank, sum, cuts);
  }
}

/// Each rank combines its part of all operands in the order of ranks: the results are canonical.
void ordered(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Segment own = input(call, 0);
  const Segment result = output(call, 0);
  const Rank n = layout.ranks();
  const Cuts cuts = cut_evenly(own.ranges.bytes(), call.combination.element_bytes, n);
  const auto piece = [&](Rank rank) { return part(own, cuts, rank); };
  combine_in_order(schedule, call, layout, piece, part(result, cuts, call.rank));
  for (Rank i = 1; i < n; ++i) {
    const Rank from = (call.rank - i + n) % n;
    schedule.receive(from, {part(result, cuts, from)});
    schedule.send((call.rank + i) % n, {part(result, cuts, call.rank)});
  }
}

}  // namespace laneway::dense::allreduce
