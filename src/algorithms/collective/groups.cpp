#include "algorithms/collective/groups.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace laneway::dense {

Group group_of(std::vector<Rank> ranks, Rank me) {
  Group group{std::move(ranks), -1};
  const auto it = std::ranges::find(group.ranks, me);
  if (it != group.ranks.end()) group.me = static_cast<Rank>(it - group.ranks.begin());
  return group;
}

Group everyone(const Layout& layout, Rank me) {
  Group group{std::vector<Rank>(static_cast<std::size_t>(layout.ranks())), me};
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

Group region_of(const Layout& layout, Rank me) {
  const auto members = layout.members(layout.region(me));
  return {{members.begin(), members.end()}, layout.index(me)};
}

Group lane_of(const Layout& layout, Rank lane, Rank me) {
  Group group;
  group.ranks.reserve(static_cast<std::size_t>(layout.regions()));
  for (Rank region = 0; region < layout.regions(); ++region) group.ranks.push_back(owner(layout, region, lane));
  if (group.rank(layout.region(me)) == me) group.me = layout.region(me);
  return group;
}

Group leaders_of(const Layout& layout, Rank root, Rank me) {
  Group group;
  for (Rank region = 0; region < layout.regions(); ++region) group.ranks.push_back(leader_of(layout, region, root));
  if (group.rank(layout.region(me)) == me) group.me = layout.region(me);
  return group;
}

Tree knomial(const Group& group, Rank root, Rank radix) {
  Tree tree;
  const std::int64_t n = group.size();
  const std::int64_t mine = (group.me - root + n) % n;
  std::int64_t span = 1;  // of ranks from mine on that are below it, were there enough
  while (mine == 0 ? span < n : mine % (span * radix) == 0) span *= radix;
  if (mine != 0) tree.parent = group.around(root + mine - mine / span % radix * span);
  for (std::int64_t part = span / radix; part > 0; part /= radix)
    for (std::int64_t child = mine + part; child < std::min(mine + part * radix, n); child += part) {
      tree.children.push_back(group.around(root + child));
      std::vector<Rank>& below = tree.below.emplace_back();
      for (std::int64_t i = child; i < std::min(child + part, n); ++i) below.push_back(group.around(root + i));
    }
  return tree;
}

Tree binomial(const Group& group, Rank root) {
  return knomial(group, root, 2);
}

MakeTree tree_between(bool is_short) {
  if (!is_short) return binomial;
  return [](const Group& group, Rank root) { return knomial(group, root, short_radix_between); };
}

MakeTree tree_inside(bool is_short) {
  if (!is_short) return binomial;
  return [](const Group& group, Rank root) { return knomial(group, root, short_radix_inside); };
}

Tree chain(const Group& group, Rank root) {
  Tree tree;
  const Rank n = group.size();
  const Rank mine = (group.me - root + n) % n;
  if (mine > 0) tree.parent = group.around(root + mine - 1);
  if (mine + 1 == n) return tree;
  tree.children.push_back(group.around(root + mine + 1));
  std::vector<Rank>& below = tree.below.emplace_back();
  for (Rank i = mine + 1; i < n; ++i) below.push_back(group.around(root + i));
  return tree;
}

std::int64_t lane_segment(const Layout& layout, std::int64_t segment_bytes) {
  constexpr std::int64_t least = 1024;  // less is latency
  return segment_bytes > 0 ? std::max(segment_bytes / layout.largest(), std::min(segment_bytes, least)) : 0;
}

Tree lane_tree(const Group& group, Rank root, std::int64_t bytes, std::int64_t segment_bytes) {
  return segment_bytes > 0 && bytes > segment_bytes ? chain(group, root) : binomial(group, root);
}

Tree flat(const Group& group, Rank root) {
  Tree tree;
  if (group.me != root) {
    tree.parent = group.rank(root);
    return tree;
  }
  for (Rank i = 1; i < group.size(); ++i) {
    tree.children.push_back(group.around(root + i));
    tree.below.push_back({tree.children.back()});
  }
  return tree;
}

Tree over_regions(const Layout& layout, Rank root, Rank me, MakeTree between, MakeTree inside) {
  const Rank region = layout.region(me);
  const Rank leader = leader_of(layout, region, root);
  Tree tree = inside(region_of(layout, me), layout.index(leader));
  if (me != leader) return tree;
  Tree outer = between(leaders_of(layout, root, me), layout.region(root));
  for (std::vector<Rank>& below : outer.below) {
    std::vector<Rank> all;
    for (const Rank first : below) {
      all.push_back(first);
      for (const Rank member : layout.members(layout.region(first)))
        if (member != first) all.push_back(member);
    }
    below = std::move(all);
  }
  outer.children.insert(outer.children.end(), tree.children.begin(), tree.children.end());
  outer.below.insert(outer.below.end(), tree.below.begin(), tree.below.end());
  return outer;
}

Cuts cut_evenly(std::int64_t bytes, std::int64_t element_bytes, std::int64_t parts) {
  Cuts cuts;
  const std::int64_t elements = bytes / element_bytes;
  const std::int64_t each = elements / parts;
  const std::int64_t more = elements % parts;  // parts have one more
  for (std::int64_t i = 0; i <= parts; ++i) cuts.at.push_back((each * i + std::min(i, more)) * element_bytes);
  return cuts;
}

Cuts cut_to_segments(std::int64_t bytes, std::int64_t element_bytes, std::int64_t segment) {
  const std::int64_t elements = bytes / element_bytes;
  const std::int64_t most = std::max<std::int64_t>(segment / element_bytes, 1);
  const std::int64_t parts = segment <= 0 ? 1 : std::max<std::int64_t>((elements + most - 1) / most, 1);
  return cut_evenly(bytes, element_bytes, parts);
}

Segment input(const DenseCall& call, Rank i) {
  if (call.kind == Dense::bcast) return {Buffer::receive, call.receive.of(0)};
  const bool one = call.kind == Dense::allgather || call.kind == Dense::gather;
  if (!call.in_place || call.kind == Dense::scatter) return {Buffer::send, call.send.of(one ? 0 : i)};
  if (call.kind == Dense::reduce_scatter) return {Buffer::receive, call.send.of(i)};
  return {Buffer::receive, call.receive.of(reduces(call.kind) ? 0 : i)};
}

Segment output(const DenseCall& call, Rank i) {
  return {Buffer::receive, call.receive.of(i)};
}

void broadcast(PlanWriter& writer, const Tree& tree, const Segment& data, std::int64_t segment_bytes) {
  const Cuts cuts = cut_to_segments(data.ranges.bytes(), 1, segment_bytes);
  for (Rank s = 0; s < cuts.parts(); ++s) {
    const Segment piece = part(data, cuts, s);
    if (tree.parent >= 0) writer.receive(tree.parent, {piece});
    for (const Rank child : tree.children) writer.send(child, {piece});
  }
}

namespace {

/// Two places for what arrives, in turn, so that the next one may arrive while one is combined.
class Arrivals {
 public:
  Arrivals(PlanWriter& writer, std::int64_t most_bytes) : slots_{writer.stage(most_bytes), writer.stage(most_bytes)} {}

  [[nodiscard]] Segment next(std::int64_t bytes) {
    const Span& slot = slots_[static_cast<std::size_t>(next_++ % 2)];
    return {slot.buffer, {{slot.offset, bytes}}};
  }

 private:
  std::array<Span, 2> slots_;
  int next_ = 0;
};

std::int64_t largest_part(const Cuts& cuts) {
  std::int64_t most = 0;
  for (Rank i = 0; i < cuts.parts(); ++i) most = std::max(most, cuts.bytes(i));
  return most;
}

/// Of ranks whose number is no power of two, each odd one of the first pairs leaves its part to the one before it.
class Folded {
 public:
  explicit Folded(const Group& group) : group_(group) {
    while (2 * numbers_ <= group.size()) numbers_ *= 2;
    pairs_ = group.size() - numbers_;
    const bool has_twin = group.me < 2 * pairs_;
    if (has_twin) twin_ = group.rank(group.me ^ 1);
    if (!has_twin || group.me % 2 == 0) number_ = has_twin ? group.me / 2 : group.me - pairs_;
  }

  [[nodiscard]] Rank numbers() const { return numbers_; }
  /// -1: it takes no part.
  [[nodiscard]] Rank number() const { return number_; }
  [[nodiscard]] Rank twin() const { return twin_; }
  /// Index in the group of the number, which is also that of its first part.
  [[nodiscard]] Rank first(Rank number) const { return number < pairs_ ? 2 * number : number + pairs_; }
  [[nodiscard]] Rank rank(Rank number) const { return group_.rank(first(number)); }
  /// What `cuts` have for numbers [begin, begin + n).
  [[nodiscard]] Segment parts(const Segment& data, const Cuts& cuts, Rank begin, Rank n) const {
    return part(data, cuts, first(begin), first(begin + n) - first(begin));
  }

  void fold(PlanWriter& writer, const Segment& data, std::int8_t how, Arrivals& arrivals) const {
    if (twin_ < 0) return;
    if (number_ < 0) {
      writer.send(twin_, {data});
      return;
    }
    const Segment arrived = arrivals.next(data.ranges.bytes());
    writer.receive(twin_, {arrived});
    writer.combine(arrived, data, how);
  }
  /// From the one that takes part to its twin.
  void unfold(PlanWriter& writer, const Segment& data) const {
    if (twin_ < 0) return;
    if (number_ < 0)
      writer.receive(twin_, {data});
    else
      writer.send(twin_, {data});
  }

 private:
  const Group& group_;
  Rank numbers_ = 1;
  Rank pairs_ = 0;
  Rank number_ = -1;
  Rank twin_ = -1;
};

void halve(PlanWriter& writer, const Folded& folded, const Segment& data, const Cuts& cuts, std::int8_t how,
           Arrivals& arrivals) {
  const Rank mine = folded.number();
  if (mine < 0) return;
  Rank begin = 0;
  for (Rank half = folded.numbers() / 2; half > 0; half /= 2) {
    const Rank partner = folded.rank(mine ^ half);
    const Rank kept = (mine & half) != 0 ? begin + half : begin;
    const Rank left = (mine & half) != 0 ? begin : begin + half;
    const Segment here = folded.parts(data, cuts, kept, half);
    writer.send(partner, {folded.parts(data, cuts, left, half)});
    const Segment arrived = arrivals.next(here.ranges.bytes());
    writer.receive(partner, {arrived});
    writer.combine(arrived, here, how);
    begin = kept;
  }
}

void double_parts(PlanWriter& writer, const Folded& folded, const Segment& data, const Cuts& cuts) {
  const Rank mine = folded.number();
  if (mine < 0) return;
  for (Rank n = 1; n < folded.numbers(); n *= 2) {
    const Rank begin = mine / n * n;
    const Rank partner = folded.rank(mine ^ n);
    writer.send(partner, {folded.parts(data, cuts, begin, n)});
    writer.receive(partner, {folded.parts(data, cuts, begin ^ n, n)});
  }
}

}  // namespace

void reduce(PlanWriter& writer, const Tree& tree, const Segment& own, const Segment& sum, const Combination& how,
            std::int64_t segment_bytes, bool is_short) {
  const bool is_leaf = tree.children.empty();
  const bool arrives_in_sum = !is_leaf && !is_short && own != sum;
  if (!arrives_in_sum && (!is_leaf || tree.parent < 0)) writer.move(own, sum);
  const Cuts cuts = cut_to_segments(own.ranges.bytes(), how.element_bytes, segment_bytes);
  const std::int8_t combination = writer.combination(how);
  // Backwards: the last one served is there first.
  const std::size_t apart = tree.children.size() - (arrives_in_sum ? 1 : 0);
  std::vector<Arrivals> arrivals;
  for (std::size_t c = 0; c < apart; ++c) arrivals.emplace_back(writer, largest_part(cuts));
  for (Rank s = 0; s < cuts.parts(); ++s) {
    const Segment piece = part(is_leaf ? own : sum, cuts, s);
    if (arrives_in_sum) {
      writer.receive(tree.children.back(), {piece});
      writer.combine(part(own, cuts, s), piece, combination);
    }
    for (std::size_t c = apart; c-- > 0;) {
      const Segment arrived = arrivals[c].next(piece.ranges.bytes());
      writer.receive(tree.children[c], {arrived});
      writer.combine(arrived, piece, combination);
    }
    if (tree.parent >= 0) writer.send(tree.parent, {piece});
  }
}

void reduce_scatter_ring(PlanWriter& writer, const Group& group, const Segment& data, const Cuts& cuts,
                         const Combination& how) {
  if (group.me < 0 || group.size() < 2) return;
  const Rank n = group.size();
  const std::int8_t combination = writer.combination(how);
  Arrivals arrivals(writer, largest_part(cuts));
  for (Rank k = 0; k + 1 < n; ++k) {
    writer.send(group.around(group.me + 1), {part(data, cuts, (group.me - k - 1 + n) % n)});
    const Segment here = part(data, cuts, (group.me - k - 2 + 2 * n) % n);
    const Segment arrived = arrivals.next(here.ranges.bytes());
    writer.receive(group.around(group.me - 1), {arrived});
    writer.combine(arrived, here, combination);
  }
}

void allgather_ring(PlanWriter& writer, const Group& group, const std::vector<Segment>& parts) {
  if (group.me < 0) return;
  const Rank n = group.size();
  for (Rank k = 0; k + 1 < n; ++k) {
    writer.send(group.around(group.me + 1), {parts[static_cast<std::size_t>((group.me - k + n) % n)]});
    writer.receive(group.around(group.me - 1), {parts[static_cast<std::size_t>((group.me - k - 1 + n) % n)]});
  }
}

void reduce_scatter_halving(PlanWriter& writer, const Group& group, const Segment& data, const Cuts& cuts,
                            const Combination& how) {
  if (group.me < 0 || group.size() < 2) return;
  const Folded folded(group);
  Arrivals arrivals(writer, data.ranges.bytes());
  const std::int8_t combination = writer.combination(how);
  folded.fold(writer, data, combination, arrivals);
  halve(writer, folded, data, cuts, combination, arrivals);
  if (folded.twin() >= 0) folded.unfold(writer, part(data, cuts, group.me | 1));
}

void allgather_doubling(PlanWriter& writer, const Group& group, const Segment& data, const Cuts& cuts) {
  if (group.me < 0 || group.size() < 2) return;
  const Folded folded(group);
  if (folded.twin() >= 0) {
    const Segment odd = part(data, cuts, group.me | 1);
    if (folded.number() < 0)
      writer.send(folded.twin(), {odd});
    else
      writer.receive(folded.twin(), {odd});
  }
  double_parts(writer, folded, data, cuts);
  folded.unfold(writer, data);
}

void allreduce_doubling(PlanWriter& writer, const Group& group, const Segment& data, const Combination& how) {
  if (group.me < 0 || group.size() < 2) return;
  const Folded folded(group);
  Arrivals arrivals(writer, data.ranges.bytes());
  const std::int8_t combination = writer.combination(how);
  folded.fold(writer, data, combination, arrivals);
  // Both partners combine the same two operands: the lower one's comes first, so that both get the same bits also of
  // NaN and zeros with signs. The sum is in one of the places, and what arrives in another one.
  const std::array places{data, arrivals.next(data.ranges.bytes()), arrivals.next(data.ranges.bytes())};
  std::size_t sum = 0;
  std::size_t free = 1;
  for (Rank n = 1; folded.number() >= 0 && n < folded.numbers(); n *= 2) {
    const Rank partner = folded.rank(folded.number() ^ n);
    const std::size_t next = places.size() - sum - free;
    writer.send(partner, {places[sum]});
    writer.receive(partner, {places[free]});
    if ((folded.number() & n) != 0) {
      writer.combine(places[free], places[sum], combination);
    } else {
      writer.combine(places[sum], places[free], combination);
      sum = free;
    }
    free = next;
  }
  writer.move(places[sum], data);
  folded.unfold(writer, data);
}

void allreduce_halves(PlanWriter& writer, const Group& group, const Segment& data, const Combination& how) {
  if (group.me < 0 || group.size() < 2) return;
  const Folded folded(group);
  const Cuts cuts = cut_evenly(data.ranges.bytes(), how.element_bytes, group.size());
  Arrivals arrivals(writer, data.ranges.bytes());
  const std::int8_t combination = writer.combination(how);
  folded.fold(writer, data, combination, arrivals);
  halve(writer, folded, data, cuts, combination, arrivals);
  double_parts(writer, folded, data, cuts);
  folded.unfold(writer, data);
}

bool is_for_rings(Rank ranks, std::int64_t bytes) {
  constexpr std::int64_t least_part = 4096;  // of a message: less is latency
  const bool is_power = (ranks & (ranks - 1)) == 0;
  return !is_power && (ranks == 3 || bytes >= least_part * ranks);  // three take four messages either way
}

void allreduce_lane(PlanWriter& writer, const Group& group, const Segment& data, const Combination& how) {
  if (!is_for_rings(group.size(), data.ranges.bytes())) return allreduce_halves(writer, group, data, how);
  if (group.me < 0) return;
  const Cuts cuts = cut_evenly(data.ranges.bytes(), how.element_bytes, group.size());
  reduce_scatter_ring(writer, group, data, cuts, how);
  std::vector<Segment> parts;
  for (Rank i = 0; i < group.size(); ++i) parts.push_back(part(data, cuts, i));
  allgather_ring(writer, group, parts);
}

void reduce_on_node(PlanWriter& writer, const Layout& layout, Rank me, const Segment& own, const Segment& sum,
                    const Cuts& cuts, const Combination& how) {
  const std::int8_t combination = writer.combination(how);
  const Rank home = layout.region(me);
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Rank to = owner(layout, home, lane);
    if (to != me) {
      writer.send(to, {part(own, cuts, lane)});
      continue;
    }
    const Segment here = part(sum, cuts, lane);
    writer.move(part(own, cuts, lane), here);
    for (const Rank member : layout.members(home)) {
      if (member == me) continue;
      const Segment arrived = staged(writer, here.ranges.bytes());
      writer.receive(member, {arrived});
      writer.combine(arrived, here, combination);
    }
  }
}

void share_on_node(PlanWriter& writer, const Layout& layout, Rank me, const Segment& data, const Cuts& cuts) {
  const Rank home = layout.region(me);
  for (Rank lane = 0; lane < cuts.parts(); ++lane) {
    const Rank from = owner(layout, home, lane);
    if (from != me) {
      writer.receive(from, {part(data, cuts, lane)});
      continue;
    }
    for (const Rank member : layout.members(home))
      if (member != me) writer.send(member, {part(data, cuts, lane)});
  }
}

void allgather_bruck(PlanWriter& writer, const Group& group, const std::vector<Segment>& blocks) {
  if (group.me < 0) return;
  const Rank n = group.size();
  const auto from = [&](Rank first, Rank count) {
    Parts parts;
    for (Rank i = 0; i < count; ++i) append(parts, blocks[static_cast<std::size_t>((first + i) % n)]);
    return parts;
  };
  for (Rank distance = 1; distance < n; distance *= 2) {
    const Rank count = std::min(distance, n - distance);
    writer.send(group.around(group.me - distance), from(group.me, count));
    writer.receive(group.around(group.me + distance), from(group.me + distance, count));
  }
}

namespace {

/// Calls f(ways) for the numbers of ranks to go that have this digit, ascending.
template <class F>
void for_each_way(std::int64_t ranks, std::int64_t radix, std::int64_t unit, std::int64_t distance, F&& f) {
  for (std::int64_t first = distance; first < ranks; first += unit * radix)
    for (std::int64_t ways = first; ways < std::min(first + unit, ranks); ++ways) f(ways);
}

}  // namespace

void alltoall_by_hops(PlanWriter& writer, const Group& group, std::int64_t radix, const Items& items) {
  if (group.me < 0) return;
  const std::int64_t n = group.size();
  const auto number = [&](std::int64_t i) { return static_cast<Rank>((i % n + n) % n); };
  std::vector<Range> waiting(static_cast<std::size_t>(n));  // by ways
  for_each_hop(n, radix, [&](std::int64_t unit, std::int64_t distance) {
    const std::int64_t end = unit * radix;  // of ways whose hop is the last
    const auto passed = [&](std::int64_t ways) {
      const std::int64_t from = group.me - ways % end;
      return items.bytes(number(from), number(from + ways));
    };
    std::int64_t bytes = 0;
    for_each_way(n, radix, unit, distance, [&](std::int64_t ways) { bytes += ways < end ? 0 : passed(ways); });
    const Span arriving = writer.stage(bytes);
    Range next{arriving.offset, 0};
    Parts sent;
    Parts received;
    for_each_way(n, radix, unit, distance, [&](std::int64_t ways) {
      Range& place = waiting[static_cast<std::size_t>(ways)];
      if (ways % unit != 0)
        append(sent, {Buffer::staging, {place}});
      else
        for (const Segment& part : items.sent(number(group.me + ways))) append(sent, part);
      if (ways < end) {
        for (const Segment& part : items.received(number(group.me - ways))) append(received, part);
        return;
      }
      place = {next.offset, passed(ways)};
      next.offset += place.bytes;
      append(received, {arriving.buffer, {place}});
    });
    writer.receive(group.around(group.me - distance), std::move(received));
    writer.send(group.around(group.me + distance), std::move(sent));
  });
}

std::vector<std::vector<SizeHop>> sizes_by_hops(const Group& group, std::int64_t radix,
                                                const std::function<Passed(Rank, Rank)>& item) {
  std::vector<std::vector<SizeHop>> rounds;
  const std::int64_t n = group.size();
  const auto number = [&](std::int64_t i) { return static_cast<Rank>((i % n + n) % n); };
  for_each_hop(n, radix, [&](std::int64_t unit, std::int64_t distance) {
    if (distance == unit) rounds.emplace_back();
    const std::int64_t end = unit * radix;
    if (group.me < 0 || end >= n) return;
    SizeHop hop{group.around(group.me + distance), group.around(group.me - distance), {}, {}};
    for_each_way(n, radix, unit, distance, [&](std::int64_t ways) {
      if (ways < end) return;
      const std::int64_t from = group.me - ways % unit;
      hop.told.push_back(item(number(from), number(from + ways)));
      hop.told.back().begins = ways % unit == 0;
      const std::int64_t heard = group.me - ways % end;
      hop.heard.push_back(item(number(heard), number(heard + ways)).item);
    });
    if (!hop.heard.empty()) rounds.back().push_back(std::move(hop));
  });
  return rounds;
}

}  // namespace laneway::dense
