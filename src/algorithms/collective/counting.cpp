#include "algorithms/collective/counting.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "algorithms/collective/groups.hpp"

namespace laneway::dense {

namespace {

/// Partners that are near may be in one block of a power of two, of which the least is a pair. After so many nodes of a
/// size one begins as far from the beginning of such a block, if it has room for a node.
Rank period(Rank size) {
  return static_cast<Rank>(std::bit_ceil(static_cast<std::uint32_t>(std::max(size, 2)))) / (size & -size);
}

/// `Messages` has `for_each(rank, f)`, which calls f(round, peer, bytes, sends) for what a rank sends and gets;
/// `all()`; `border(layout, run)`: the number of a run's node before and after which nodes are alike, if they lie alike
/// in blocks where it is `in_blocks`; `alike_if_dealt()`: so are the nodes of ranks that are dealt evenly.
template <class Messages>
class Counting {
 public:
  Counting(const Layout& layout, const Messages& messages) : layout_(layout), messages_(messages) {
    const bool is_dealt = layout.placement() == Layout::Placement::dealt && layout.runs().size() == 1;
    if (layout.placement() == Layout::Placement::blocks || (is_dealt && messages.alike_if_dealt())) {
      for (const Layout::Run& run : layout.runs()) {
        const Rank border = std::clamp(messages.border(layout, run), 0, run.regions);
        add_alike(run, 0, border);
        add_alike(run, border, std::min(border + 1, run.regions));
        add_alike(run, border + 1, run.regions);
      }
    } else {
      for (Rank region = 0; region < layout.regions(); ++region) add(region, 1);
    }
  }

  /// What the members of a region send and get, as those of so many do; 0: only who has most to do matters.
  void add(Rank region, Rank regions) {
    std::array<Flow, 2> of_node;  // to other nodes, from them
    for (const Rank rank : layout_.members(region)) {
      std::array<std::array<Flow, 2>, 2> own;  // inside, between nodes; got, sent
      messages_.for_each(rank, [&](int round, Rank peer, double bytes, bool sends) {
        const bool crosses = layout_.region(peer) != region;
        own[crosses][sends].add({1, bytes});
        rounds_[crosses] |= std::uint64_t{1} << round;
      });
      for (const std::size_t sends : {0, 1}) {
        near_.raise(own[0][sends]);
        far_.raise(own[1][sends]);
        of_node[sends].add(own[1][sends]);
      }
      inside_.add(own[0][1], regions);
    }
    for (const Flow& flow : of_node) node_.raise(flow);
  }

  /// Rounds of both sorts take as long as messages between nodes do.
  [[nodiscard]] DenseCost cost(double combined) const {
    const Flow all = messages_.all();
    const double across = all.messages - inside_.messages;
    const double bytes = across > 0 ? all.bytes - inside_.bytes : 0;
    DenseCost cost;
    const auto rounds = [](std::uint64_t bits) { return static_cast<double>(std::popcount(bits)); };
    cost.node = {near_.messages, near_.bytes, rounds(rounds_[0] & ~rounds_[1])};
    cost.network = {far_.messages, far_.bytes, rounds(rounds_[1])};
    cost.injected = node_;
    cost.combined_bytes = combined;
    cost.all = {
        {inside_.messages, inside_.bytes, inside_.messages}, {across, bytes, across}, combined * layout_.ranks()};
    return cost;
  }

 private:
  /// Nodes of a run from number `begin` to `end`: those with a period between them do the same, but for the last one.
  void add_alike(const Layout::Run& run, Rank begin, Rank end) {
    const Rank each = Messages::in_blocks ? period(run.size) : 1;
    for (Rank i = begin; i < std::min(end - 1, begin + each); ++i) add(run.region + i, (end - 1 - i + each - 1) / each);
    if (begin < end) add(run.region + end - 1, 1);
  }

  const Layout& layout_;
  const Messages& messages_;
  Flow near_;    // inside of a node, of the rank that has most
  Flow far_;     // between nodes
  Flow node_;    // between nodes, of the node that has most
  Flow inside_;  // inside of nodes, of all
  std::array<std::uint64_t, 2> rounds_{};
};

/// Whether a step leads to another node is a matter of a rank's number in its node. Not around, the first of equal
/// nodes send most, and the last ones get most.
struct Steps {
  Rank ranks;
  int rounds;
  bool around;
  const RoundBytes& bytes;

  template <class F>
  void for_each(Rank rank, F&& f) const {
    for (int round = 0; round < rounds; ++round) {
      const Rank distance = Rank{1} << round;
      const double sent = bytes[static_cast<std::size_t>(round)];
      if (around || rank + distance < ranks) f(round, (rank + distance) % ranks, sent, true);
      if (around || rank >= distance) f(round, (rank - distance + ranks) % ranks, sent, false);
    }
  }
  [[nodiscard]] Flow all() const {
    Flow flow;
    for (int round = 0; round < rounds; ++round)
      flow.add({1, bytes[static_cast<std::size_t>(round)]}, ranks - (around ? 0 : Rank{1} << round));
    return flow;
  }
  [[nodiscard]] Rank border(const Layout&, const Layout::Run&) const { return 0; }
  [[nodiscard]] bool alike_if_dealt() const { return true; }
  static constexpr bool in_blocks = false;
};

/// As Steps around, to several ranks in each round.
struct Hops {
  Rank ranks;
  std::int64_t radix;
  double bytes;

  template <class F>
  void for_each(Rank rank, F&& f) const {
    int rounds = 0;
    for_each_hop(ranks, radix, [&](std::int64_t unit, std::int64_t distance) {
      if (distance == unit) ++rounds;
      const double sent = static_cast<double>(items_of_hop(ranks, radix, unit, distance)) * bytes;
      f(rounds - 1, static_cast<Rank>((rank + distance) % ranks), sent, true);
      f(rounds - 1, static_cast<Rank>((rank - distance + ranks) % ranks), sent, false);
    });
  }
  [[nodiscard]] Flow all() const {
    Flow flow;
    for_each_hop(ranks, radix, [&](std::int64_t unit, std::int64_t distance) {
      flow.add({1, static_cast<double>(items_of_hop(ranks, radix, unit, distance)) * bytes}, ranks);
    });
    return flow;
  }
  [[nodiscard]] Rank border(const Layout&, const Layout::Run&) const { return 0; }
  [[nodiscard]] bool alike_if_dealt() const { return true; }
  static constexpr bool in_blocks = false;
};

/// The first ranks are in pairs of which one takes no part.
struct Exchanges {
  Rank ranks;
  int times;
  const RoundBytes& bytes;
  double folded;
  int bits = std::bit_width(static_cast<std::uint32_t>(ranks)) - 1;
  Rank pairs = ranks - (Rank{1} << bits);

  template <class F>
  void for_each(Rank rank, F&& f) const {
    const bool is_paired = rank < 2 * pairs;
    const bool takes_part = !is_paired || rank % 2 == 0;
    if (is_paired) {
      f(0, rank ^ 1, folded, !takes_part);
      f(1, rank ^ 1, folded, takes_part);
    }
    const Rank number = is_paired ? rank / 2 : rank - pairs;
    for (int i = 0; takes_part && i < times * bits; ++i) {
      const Rank other = number ^ (Rank{1} << (i % bits));
      for (const bool sends : {false, true})
        f(2 + i, other < pairs ? 2 * other : other + pairs, bytes[static_cast<std::size_t>(i % bits)], sends);
    }
  }
  [[nodiscard]] Flow all() const {
    Flow flow{2.0 * pairs, 2.0 * pairs * folded};
    for (int i = 0; i < bits; ++i) flow.add({1, bytes[static_cast<std::size_t>(i)]}, times * (ranks - pairs));
    return flow;
  }
  [[nodiscard]] Rank border(const Layout&, const Layout::Run& run) const { return (2 * pairs - run.first) / run.size; }
  [[nodiscard]] bool alike_if_dealt() const { return pairs == 0; }
  static constexpr bool in_blocks = true;
};

/// Ranks are numbered from the root. A number's parent is without its lowest bit. The root's node is like no other, nor
/// is the one before it, whose subtrees the last rank cuts off.
struct BinomialTree {
  Rank ranks;
  Rank root;
  double bytes;
  bool of_all_below;

  [[nodiscard]] Rank rank_of(Rank number) const { return (root + number) % ranks; }

  template <class F>
  void for_each(Rank rank, F&& f) const {
    const auto sent = [&](Rank child) {
      return of_all_below ? std::min(child & -child, ranks - child) * bytes : bytes;
    };
    const Rank number = (rank - root + ranks) % ranks;
    if (number > 0) f(0, rank_of(number & (number - 1)), sent(number), true);
    const Rank end = number > 0 ? std::min(number + (number & -number), ranks) : ranks;
    for (Rank bit = 1; number + bit < end; bit *= 2) f(0, rank_of(number + bit), sent(number + bit), false);
  }
  [[nodiscard]] Flow all() const { return {ranks - 1.0, (of_all_below ? blocks_sent(ranks) : ranks - 1) * bytes}; }
  [[nodiscard]] Rank border(const Layout& layout, const Layout::Run& run) const {
    return layout.region(root) - run.region;
  }
  [[nodiscard]] bool alike_if_dealt() const { return false; }
  static constexpr bool in_blocks = true;
};

/// Goes the ways on which more is possible than on the best so far, those into large subtrees first.
struct WaySearch {
  const Layout& layout;
  Rank root;
  TreeWays best{};

  /// `bits`: the subtree has numbers up to so many bits further.
  void follow(Rank number, int bits, double crossings, double messages) {
    best.crossings = std::max(best.crossings, crossings);
    best.messages = std::max(best.messages, messages);
    if (is_on_one_node(number, bits)) return;
    const auto child = [&](int bit) { return number + (Rank{1} << bit); };
    const auto crosses = [&](int bit) { return region(child(bit)) != region(number); };
    double sent = 0;
    for (int bit = 0; bit < bits && child(bit) < layout.ranks(); ++bit) sent += crosses(bit);
    for (int bit = bits - 1; bit >= 0; --bit) {
      if (child(bit) >= layout.ranks()) continue;
      const double more = crosses(bit) ? 1 : 0;
      const bool may_be_longer =
          crossings + more + bit > best.crossings || messages + more * sent + bit * (bit + 1.0) / 2 > best.messages;
      if (may_be_longer) follow(child(bit), bit, crossings + more, messages + more * sent);
    }
  }

  [[nodiscard]] Rank rank_of(Rank number) const { return (root + number) % layout.ranks(); }
  [[nodiscard]] Rank region(Rank number) const { return layout.region(rank_of(number)); }
  [[nodiscard]] bool is_on_one_node(Rank number, int bits) const {
    const Rank last = std::min(number + (Rank{1} << bits), layout.ranks()) - 1;
    const bool goes_around = rank_of(last) < rank_of(number);
    return layout.placement() == Layout::Placement::blocks && region(number) == region(last) &&
           (layout.regions() == 1 || !goes_around);
  }
};

}  // namespace

DenseCost count_steps(const Layout& layout, int rounds, bool around, const RoundBytes& bytes, double combined) {
  const Steps steps{layout.ranks(), rounds, around, bytes};
  return Counting(layout, steps).cost(combined);
}

DenseCost count_hops(const Layout& layout, std::int64_t radix, double bytes) {
  const Hops hops{layout.ranks(), radix, bytes};
  return Counting(layout, hops).cost(hops.all().bytes / layout.ranks());
}

DenseCost count_exchanges(const Layout& layout, int times, const RoundBytes& bytes, double folded, double combined) {
  const Exchanges exchanges{layout.ranks(), times, bytes, folded};
  return Counting(layout, exchanges).cost(combined);
}

DenseCost count_tree(const Layout& layout, Rank root, double bytes, bool of_all_below) {
  const BinomialTree tree{layout.ranks(), root, bytes, of_all_below};
  Counting counting(layout, tree);
  // Who has most to do has a large subtree: all those of such are counted that may lie in different ways.
  Rank ways = 1;
  for (const Layout::Run& run : layout.runs()) ways = std::max(ways, period(run.size));
  Rank step = 1;
  while ((layout.ranks() - 1) / step > 4 * ways) step *= 2;
  for (std::int64_t number = step; number < layout.ranks(); number += step)
    counting.add(layout.region(tree.rank_of(static_cast<Rank>(number))), 0);
  return counting.cost(0);
}

double blocks_sent(Rank ranks) {
  double blocks = 0;
  for (Rank bit = 1; bit < ranks; bit *= 2) {
    const Rank senders = ((ranks - 1) / bit + 1) / 2;
    blocks += (senders - 1.0) * bit + std::min(bit, ranks - (2 * senders - 1) * bit);
  }
  return blocks;
}

TreeWays tree_ways(const Layout& layout, Rank root) {
  WaySearch search{layout, root};
  search.follow(0, std::bit_width(static_cast<std::uint32_t>(layout.ranks() - 1)), 0, 0);
  return search.best;
}

DenseCost count_leaders_bruck(const Layout& layout, double bytes) {
  const Rank n = layout.regions();
  const auto ranks_before = [&](Rank i) { return i / n * layout.ranks() + layout.ranks_before(i % n); };
  DenseCost cost;
  // What a leader sends in all rounds, and what it gets, is most where it begins or ends with the first node of a run.
  const auto raise = [&](Rank leader) {
    double sent = 0;
    double got = 0;
    for (Rank distance = 1; distance < n; distance *= 2) {
      const Rank nodes = std::min(distance, n - distance);
      sent += ranks_before(leader + nodes) - ranks_before(leader);
      got += ranks_before(leader + distance + nodes) - ranks_before(leader + distance);
    }
    cost.network.bytes = std::max(cost.network.bytes, std::max(sent, got) * bytes);
  };
  for (const Layout::Run& run : layout.runs()) {
    raise(run.region);
    for (Rank distance = 1; distance < n; distance *= 2) {
      raise((run.region - distance + n) % n);
      raise((run.region + distance) % n);
    }
  }
  for (Rank distance = 1; distance < n; distance *= 2) {
    cost.network.waits += 1;
    cost.all.network.bytes += std::min(distance, n - distance) * static_cast<double>(layout.ranks()) * bytes;
  }
  cost.network.messages = cost.network.waits;
  cost.injected = {cost.network.messages, cost.network.bytes};
  cost.all.network.messages = cost.all.network.waits = cost.network.waits * n;
  return cost;
}

}  // namespace laneway::dense
