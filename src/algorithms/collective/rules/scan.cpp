#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

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

namespace {

/// Nodes [first, last) of those before `node`, whose sums a member of it receives: as many as others, in their order.
Rank first_taken(const Layout& layout, Rank node, Rank member) {
  return static_cast<Rank>(std::int64_t{node} * member / layout.size(node));
}
/// The member of `from` that has the sum of its node for another one: the members in turn, from the last, who has it
/// first.
Rank sender(const Layout& layout, Rank from, Rank to) {
  const Rank size = layout.size(from);
  return size - 1 - (to - from - 1) % size;
}
Rank receiver(const Layout& layout, Rank from, Rank to) {
  const Rank size = layout.size(to);
  return static_cast<Rank>(((std::int64_t{from} + 1) * size - 1) / to);
}

/// `sum`, if it has something, and `more`, which may not be written to.
class Sum {
 public:
  Sum(PlanWriter& writer, const Segment& at, const Combination& how)
      : writer_(writer), at_(at), how_(writer.combination(how)) {}
  void add(const Segment& more) {
    if (has_some_)
      writer_.combine(more, at_, how_);
    else
      writer_.move(more, at_);
    has_some_ = true;
  }
  [[nodiscard]] bool has_some() const { return has_some_; }
  [[nodiscard]] const Segment& at() const { return at_; }

 private:
  PlanWriter& writer_;
  const Segment at_;
  const std::int8_t how_;
  bool has_some_ = false;
};

/// Whether a member of a node sends the node's sum to any other.
bool is_sender(const Layout& layout, Rank home, Rank members, Rank member) {
  for (Rank to = home + 1; to < layout.regions() && to - home <= members; ++to)
    if (sender(layout, home, to) == member) return true;
  return false;
}

}  // namespace

/// All ranks of a node have the operands of all; each sends the node's sum to some nodes that come after it, and gives
/// the others of its own what it gets. Where a node's ranks do not follow each other, as recursive_doubling.
void one_hop(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  if (layout.placement() != Layout::Placement::blocks) return recursive_doubling(writer, call, layout, settings);
  const Segment own = input(call, 0);
  const Segment result = output(call, 0);
  const std::int64_t bytes = result.ranges.bytes();
  const Group group = region_of(layout, call.rank);
  const Rank home = layout.region(call.rank);
  const auto for_each_other = [&](auto&& f) {
    for (Rank member = 0; member < group.size(); ++member)
      if (member != group.me) f(member);
  };
  // A rank needs the operands of those before it; of those after it where it sends the sum of the node.
  const auto sends_sum = [&](Rank member) { return is_sender(layout, home, group.size(), member); };
  const auto needs = [&](Rank to, Rank of) { return of < to || sends_sum(to); };
  for_each_other([&](Rank member) {
    if (needs(member, group.me)) writer.send(group.rank(member), {own});
  });
  std::vector<Segment> operands(static_cast<std::size_t>(group.size()), own);
  for_each_other([&](Rank member) {
    if (!needs(group.me, member)) return;
    operands[static_cast<std::size_t>(member)] = staged(writer, bytes);
    writer.receive(group.rank(member), {operands[static_cast<std::size_t>(member)]});
  });
  if (sends_sum(group.me)) {
    Sum sum(writer, staged(writer, bytes), call.combination);
    for (const Segment& operand : operands) sum.add(operand);
    for (Rank to = home + 1; to < layout.regions(); ++to)
      if (sender(layout, home, to) == group.me) writer.send(layout.member(to, receiver(layout, home, to)), {sum.at()});
  }
  // What is before this node, in parts that members have received.
  std::vector<Segment> before;
  for (Rank member = 0; home > 0 && member < group.size(); ++member) {
    const Rank first = first_taken(layout, home, member);
    const Rank last = first_taken(layout, home, member + 1);
    if (first == last) continue;
    before.push_back(staged(writer, bytes));
    if (member != group.me) continue;
    Sum sum(writer, before.back(), call.combination);
    std::vector<Segment> arrived;
    for (Rank from = first; from < last; ++from) {
      arrived.push_back(staged(writer, bytes));
      writer.receive(layout.member(from, sender(layout, from, home)), {arrived.back()});
    }
    for (const Segment& one : arrived) sum.add(one);
    for_each_other([&](Rank other) { writer.send(group.rank(other), {before.back()}); });
  }
  std::size_t part = 0;
  for (Rank member = 0; home > 0 && member < group.size(); ++member) {
    if (first_taken(layout, home, member) == first_taken(layout, home, member + 1)) continue;
    if (member != group.me) writer.receive(group.rank(member), {before[part]});
    ++part;
  }
  // In place the own operand is where the result comes.
  Sum all(writer, call.in_place ? staged(writer, bytes) : result, call.combination);
  for (const Segment& one : before) all.add(one);
  for (Rank member = 0; member < group.me; ++member) all.add(operands[static_cast<std::size_t>(member)]);
  if (call.kind != Dense::exscan) all.add(own);
  if (call.in_place && all.has_some()) writer.move(all.at(), result);
}

namespace {

/// Of min(n, most), or of the pairs of so many, over all n from `first` on to `last`.
double sum_of(double first, double last, double most) {
  const auto up_to = [&](double n) {
    const double low = std::min(n, most);
    return low * (low + 1) / 2 + std::max(n - most, 0.0) * most;
  };
  return up_to(last) - up_to(first - 1);
}
double pairs_of(double first, double last, double most) {
  const auto up_to = [&](double n) {
    const double low = std::min(n, most);
    return (low + 1) * low * (low - 1) / 6 + std::max(n - most, 0.0) * most * (most - 1) / 2;
  };
  return up_to(last) - up_to(first - 1);
}

}  // namespace

DenseCost one_hop_cost(const Shape& s) {
  if (s.layout.placement() != Layout::Placement::blocks) return recursive_doubling_cost(s);
  const double most = std::ceil((s.nodes - 1) / s.members);  // from nodes before, or to those after
  const double parts = std::min(s.nodes - 1, s.members);     // in which members have what is before the last node
  const double others = s.members - 1;
  const double sums = (parts > 0 ? s.members : 0) + most + parts + s.members;
  DenseCost inner = inside(s, s.nodes > 1 ? 2 : 1, others + parts, (others + parts) * s.bytes, sums * s.bytes);
  DenseCost outer = across(s, s.nodes > 1 ? 1 : 0, most, most * s.bytes, s.members);
  outer.injected = {s.nodes - 1, (s.nodes - 1) * s.bytes};
  outer.all.network = {s.nodes * (s.nodes - 1) / 2, s.nodes * (s.nodes - 1) / 2 * s.bytes, 0};
  inner.all.node.messages = inner.all.combined_bytes = 0;
  for (const Layout::Run& run : s.layout.runs()) {
    const double size = run.size;
    const double before = run.region;  // nodes before the first
    const double after = s.nodes - before - run.regions;
    const double received = sum_of(before, before + run.regions - 1, size);  // by so many ranks
    const double pairs = run.regions * size * (size - 1) / 2;
    inner.all.node.messages += pairs + pairs_of(after, after + run.regions - 1, size) + received * (size - 1);
    inner.all.combined_bytes += (sum_of(after, after + run.regions - 1, size) + received) * size + pairs +
                                run.regions * (size + before + (run.regions - 1) / 2.0);
    outer.all.network.waits += received;
  }
  inner.all.node.bytes = inner.all.node.messages * s.bytes;
  inner.all.combined_bytes *= s.bytes;
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
    all.push_back({kind, "one_hop", "each node's sum to all nodes after it, by all its ranks", cited::bruck_1997,
                   relays, one_hop, one_hop_cost});
  }
  return all;
}

}  // namespace laneway::dense::scan
