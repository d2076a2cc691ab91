#include "algorithms/collective/rules/rules.hpp"

namespace laneway::dense::scan {

namespace {

/// W. D. Hillis, G. L. Steele: Data parallel algorithms, 1986. `inclusive` has each rank's operand first and the
/// combination of all up to it in the end, if that is wanted; `exclusive`, if there is one, that of all before it. The
/// first has none.
void scan_group(PlanWriter& writer, const Group& group, const Segment& inclusive, bool wants_inclusive,
                const Segment* exclusive, const Combination& how) {
  if (group.me < 0) return;
  const std::int8_t combination = writer.combination(how);
  bool has_some = false;
  for (Rank distance = 1; distance < group.size(); distance *= 2) {
    if (group.me + distance < group.size()) writer.send(group.rank(group.me + distance), {inclusive});
    if (group.me - distance < 0) continue;
    const Segment arrived = staged(writer, inclusive.ranges.bytes());
    writer.receive(group.rank(group.me - distance), {arrived});
    if (wants_inclusive || group.me + 2 * distance < group.size()) writer.combine(arrived, inclusive, combination);
    if (exclusive == nullptr) continue;
    if (has_some)
      writer.combine(arrived, *exclusive, combination);
    else
      writer.move(arrived, *exclusive);
    has_some = true;
  }
}

/// A scan of a group, by kind: where the inclusive sums are, if they are wanted.
Segment scan_members(PlanWriter& writer, const DenseCall& call, const Group& group, bool wants_inclusive) {
  const Segment result = output(call, 0);
  const bool excludes = call.kind == Dense::exscan;
  const Segment inclusive = excludes ? staged(writer, result.ranges.bytes()) : result;
  writer.move(input(call, 0), inclusive);
  scan_group(writer, group, inclusive, wants_inclusive || !excludes, excludes ? &result : nullptr, call.combination);
  return inclusive;
}

}  // namespace

void recursive_doubling(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  scan_members(writer, call, everyone(layout, call.rank), false);
}

DenseCost recursive_doubling_cost(const Shape& s) {
  return along_ways(count_steps(s.layout, rounds(s.ranks), false, each_round(s.bytes), rounds(s.ranks) * s.bytes),
                    s.layout);
}

/// From rank to rank, in canonical order.
void linear(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Segment own = input(call, 0);
  const Segment result = output(call, 0);
  const bool excludes = call.kind == Dense::exscan;
  const Rank last = layout.ranks() - 1;
  const std::int8_t how = writer.combination(call.combination);
  if (call.rank == 0) {
    if (!excludes) writer.move(own, result);
  }
  const Segment copy = call.rank > 0 ? staged(writer, own.ranges.bytes()) : own;
  writer.move(own, copy);
  const Segment sum = call.rank == 0 ? own : excludes ? staged(writer, own.ranges.bytes()) : result;
  const Cuts cuts = cut_to_segments(own.ranges.bytes(), call.combination.element_bytes, settings.segment_bytes);
  for (Rank s = 0; s < cuts.parts(); ++s) {
    const Segment piece = part(sum, cuts, s);
    if (call.rank > 0) {
      writer.receive(call.rank - 1, {part(result, cuts, s)});
      if (excludes && call.rank < last) writer.move(part(result, cuts, s), piece);
      if (!excludes || call.rank < last) writer.combine(part(copy, cuts, s), piece, how);
    }
    if (call.rank < last) writer.send(call.rank + 1, {piece});
  }
}

/// Inside of nodes; between their last ranks, which have the sums of their nodes; and what is before a node goes to all
/// of it. Where a node's ranks do not follow each other there is no such sum: then as recursive_doubling.
void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  if (layout.placement() != Layout::Placement::blocks) return recursive_doubling(writer, call, layout, settings);
  const Group region = region_of(layout, call.rank);
  const Segment result = output(call, 0);
  const std::int64_t bytes = result.ranges.bytes();
  const Rank home = layout.region(call.rank);
  const bool has_total = region.me + 1 == region.size() && home + 1 < layout.regions();
  const Segment inclusive = scan_members(writer, call, region, has_total);
  Group lasts;
  for (Rank r = 0; r < layout.regions(); ++r) lasts.ranks.push_back(layout.members(r).back());
  const Segment before = staged(writer, bytes);
  if (region.me + 1 == region.size()) {
    lasts.me = home;
    const Segment total = staged(writer, bytes);
    writer.move(inclusive, total);
    scan_group(writer, lasts, total, false, &before, call.combination);
  }
  if (home == 0) return;
  broadcast(writer, dense::binomial(region, region.size() - 1), before, 0);
  if (call.kind == Dense::exscan && region.me == 0)
    writer.move(before, result);
  else
    writer.combine(before, result, writer.combination(call.combination));
}

DenseCost node_aware_cost(const Shape& s) {
  const double near = rounds(s.members);
  const double far = rounds(s.nodes);
  DenseCost inner = inside(s, 2 * near, 2 * near, 2 * near * s.bytes, (near + 1) * s.bytes);
  DenseCost outer = across(s, far, far, far * s.bytes, 1, far * s.bytes);
  const auto messages = [](Rank ranks) {  // of a scan
    double all = 0;
    for (Rank distance = 1; distance < ranks; distance *= 2) all += ranks - distance;
    return all;
  };
  // Down the trees of all nodes but the first, of which no leader gets.
  inner.all.node.messages = s.ranks - s.home - (s.nodes - 1);
  for (const Layout::Run& run : s.layout.runs()) inner.all.node.messages += run.regions * messages(run.size);
  inner.all.node.bytes = inner.all.node.messages * s.bytes;
  outer.all.network.messages = messages(s.layout.regions());
  outer.all.network.bytes = outer.all.network.messages * s.bytes;
  return add(inner, outer);
}

std::vector<DenseRule> rules() {
  constexpr std::string_view hillis = "W. D. Hillis, G. L. Steele: Data parallel algorithms, 1986";
  std::vector<DenseRule> all;
  for (const Dense kind : {Dense::scan, Dense::exscan}) {
    all.push_back(
        {kind, "recursive_doubling", "in log2 rounds", hillis, relays, recursive_doubling, recursive_doubling_cost});
    all.push_back({kind, "linear", "from rank to rank, in segments", cited::canonical,
                   DenseTraits{.in_order = true, .relays = true}, linear, reduction::ordered_cost});
    all.push_back({kind, "node_aware", "inside of nodes, between them, and back", cited::all_to_all, relays, node_aware,
                   node_aware_cost});
  }
  return all;
}

}  // namespace laneway::dense::scan
