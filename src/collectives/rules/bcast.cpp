#include "collectives/rules/rules.hpp"

namespace laneway::dense::bcast {

void binomial(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  broadcast(schedule, dense::binomial(everyone(layout, call.rank), call.root), output(call, 0), 0);
}

void node_aware(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment data = output(call, 0);
  const bool is_short = settings.is_short(data.ranges.bytes());
  broadcast(schedule, over_regions(layout, call.root, call.rank, tree_between(is_short), tree_inside(is_short)), data,
            settings.segment_bytes);
}

/// From node to node, and inside of nodes: all links carry the data once, segment after segment.
void chain(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  broadcast(schedule, over_regions(layout, call.root, call.rank, dense::chain, dense::chain), output(call, 0),
            settings.segment_bytes);
}

/// J. L. Traeff, S. Hunold, CLUSTER 2020: scatter on the root's node, a broadcast on each lane, allgather on each node.
/// Along a lane in a chain where it has several segments: all links carry the data once.
void multi_lane(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment data = output(call, 0);
  const Cuts cuts = cut_evenly(data.ranges.bytes(), 1, layout.largest());
  const Rank source = layout.region(call.root);
  const Rank home = layout.region(call.rank);
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Rank first = owner(layout, source, lane);
    if (first == call.root) continue;
    if (call.rank == call.root) schedule.send(first, {part(data, cuts, lane)});
    if (call.rank == first) schedule.receive(call.root, {part(data, cuts, lane)});
  }
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Group group = lane_of(layout, lane, call.rank);
    if (group.me < 0) continue;
    const std::int64_t segment = lane_segment(layout, settings.segment_bytes);
    const Tree tree = lane_tree(group, source, cuts.bytes(0), segment);
    broadcast(schedule, tree, part(data, cuts, lane), segment);
  }
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Rank from = owner(layout, home, lane);
    if (call.rank != from) {
      if (call.rank != call.root) schedule.receive(from, {part(data, cuts, lane)});
      continue;
    }
    for (const Rank member : layout.members(home))
      if (member != call.rank && member != call.root) schedule.send(member, {part(data, cuts, lane)});
  }
}

}  // namespace laneway::dense::bcast
