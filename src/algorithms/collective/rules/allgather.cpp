#include <functional>
#include <utility>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

namespace laneway::dense::allgather {

namespace {

std::vector<Segment> all_blocks(const DenseCall& call, const Layout& layout) {
  std::vector<Segment> blocks;
  blocks.reserve(static_cast<std::size_t>(layout.ranks()));
  for (Rank rank = 0; rank < layout.ranks(); ++rank) blocks.push_back(output(call, rank));
  return blocks;
}

void put_own(PlanWriter& writer, const DenseCall& call) {
  writer.move(input(call, call.rank), output(call, call.rank));
}

/// Blocks of a region's members.
Segment region_blocks(const DenseCall& call, const Layout& layout, Rank region) {
  Segment blocks{Buffer::receive, {}};
  for (const Rank member : layout.members(region)) blocks.ranges.append(output(call, member).ranges);
  return blocks;
}

}  // namespace

void direct(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Rank n = layout.ranks();
  put_own(writer, call);
  for (Rank i = 1; i < n; ++i) {
    const Rank from = (call.rank - i + n) % n;
    writer.receive(from, {output(call, from)});
    writer.send((call.rank + i) % n, {input(call, call.rank)});
  }
}

void ring(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  put_own(writer, call);
  allgather_ring(writer, everyone(layout, call.rank), all_blocks(call, layout));
}

DenseCost ring_cost(const Shape& s) {
  return times(count_steps(s.layout, 1, true, each_round(s.bytes), 0), s.ranks - 1);
}

void bruck(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  put_own(writer, call);
  allgather_bruck(writer, everyone(layout, call.rank), all_blocks(call, layout));
}

DenseCost bruck_cost(const Shape& s) {
  const Rank n = s.layout.ranks();
  const RoundBytes bytes =
      bytes_of_rounds([&](Rank distance) { return static_cast<double>(std::min(distance, n - distance)) * s.bytes; });
  return along_ways(count_steps(s.layout, rounds(s.ranks), true, bytes, 0), s.layout);
}

/// Leaders gather what their node has, exchange it among themselves, and hand all of it on.
void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Group region = region_of(layout, call.rank);
  const Rank home = layout.region(call.rank);
  put_own(writer, call);
  if (region.me != 0) {
    writer.send(region.rank(0), {input(call, call.rank)});
  } else {
    for (Rank i = 1; i < region.size(); ++i) writer.receive(region.rank(i), {output(call, region.rank(i))});
    std::vector<Segment> blocks;
    for (Rank r = 0; r < layout.regions(); ++r) blocks.push_back(region_blocks(call, layout, r));
    allgather_bruck(writer, leaders_of(layout, layout.leader(home), call.rank), blocks);
  }
  // In the order in which it is there.
  Segment all{Buffer::receive, {}};
  for (Rank i = 0; i < layout.regions(); ++i)
    all.ranges.append(region_blocks(call, layout, (home + i) % layout.regions()).ranges);
  broadcast(writer, binomial(region, 0), all, settings.segment_bytes);
}

DenseCost node_aware_cost(const Shape& s) {
  const double steps = rounds(s.members);
  const double in_trees = steps > 0 ? (s.ranks - s.nodes) / steps : 0;  // ranks that are busy in each step
  const double pieces = segments(s, s.ranks * s.bytes);
  return add(add(with_leaders(s), inside(s, steps, steps * pieces, steps * s.ranks * s.bytes, 0, in_trees)),
             count_leaders_bruck(s.layout, s.bytes));
}

/// J. L. Traeff, S. Hunold: Decomposing MPI collectives for exploiting multi-lane communication, CLUSTER 2020: each
/// rank sends its block to the rank of its lane in each other node; what has come in goes to all of the node.
void multi_lane(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Group region = region_of(layout, call.rank);
  const Rank home = layout.region(call.rank);
  const Rank n = layout.regions();
  // Those of another region whose blocks come in at a member of this one.
  const auto for_each_source = [&](Rank from, Rank at, auto&& f) {
    for (const Rank source : layout.members(from))
      if (owner(layout, home, layout.index(source)) == at) f(source);
  };
  put_own(writer, call);
  for (Rank i = 1; i < n; ++i) {
    for_each_source((home - i + n) % n, call.rank,
                    [&](Rank source) { writer.receive(source, {output(call, source)}); });
    writer.send(owner(layout, (home + i) % n, region.me), {input(call, call.rank)});
  }
  const auto hand_over = [&](Rank at, std::function<void(Parts)> message) {
    Cutter cutter(settings.segment_bytes, std::move(message));
    cutter.add(output(call, at));
    for (Rank i = 1; i < n; ++i)
      for_each_source((home - i + n) % n, at, [&](Rank source) {
        cutter.may_end();
        cutter.add(output(call, source));
      });
    cutter.end();
  };
  for (Rank i = 1; i < region.size(); ++i) {
    const Rank to = region.around(region.me + i);
    const Rank from = region.around(region.me - i);
    hand_over(from, [&](Parts parts) { writer.receive(from, std::move(parts)); });
    hand_over(call.rank, [&](Parts parts) { writer.send(to, std::move(parts)); });
  }
}

DenseCost multi_lane_cost(const Shape& s) {
  const double share = s.nodes * s.bytes;
  // A message ends with the block that makes it a segment.
  const double blocks =
      std::max(1.0, std::ceil(static_cast<double>(s.settings.segment_bytes) / std::max(s.bytes, 1.0)));
  const double pieces = std::ceil(s.nodes / blocks);
  DenseCost near = inside(s, s.members > 1 ? 1 : 0, (s.members - 1) * pieces, (s.members - 1) * share);
  near.all.node.messages = s.inside_pairs * pieces;
  near.all.node.bytes = (s.ranks - s.nodes) * s.ranks * s.bytes;
  return add(across(s, s.nodes > 1 ? 1 : 0, s.nodes - 1, (s.nodes - 1) * s.bytes, s.members), near);
}

std::vector<DenseRule> rules() {
  return {
      {Dense::allgather, "direct", "each rank sends its block to each other one", cited::mpich, DenseTraits{}, direct,
       alltoall::nonblocking_cost},
      {Dense::allgather, "ring", "blocks go from rank to rank", cited::mpich, relays, ring, ring_cost},
      {Dense::allgather, "bruck", "in log2 rounds, of twice as many blocks each", cited::bruck_1997, relays, bruck,
       bruck_cost},
      {Dense::allgather, "node_aware", "leaders gather, exchange and broadcast", cited::all_to_all, relays, node_aware,
       node_aware_cost},
      {Dense::allgather, "multi_lane", "each rank to its lane in each node, then inside of nodes", cited::multi_lane,
       relays, multi_lane, multi_lane_cost},
  };
}

}  // namespace laneway::dense::allgather
