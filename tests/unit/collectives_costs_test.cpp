#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/collective/choice.hpp"
#include "algorithms/collective/cost_parts.hpp"
#include "allocations.hpp"
#include "cases.hpp"

// What rules cost is found without a look at all ranks. Here it is found by one at each message of all ranks.

namespace laneway::dense::counted {
namespace {

/// Counts messages one by one.
class Counter {
 public:
  explicit Counter(const Layout& layout)
      : layout_(layout),
        ranks_(static_cast<std::size_t>(layout.ranks())),
        nodes_(static_cast<std::size_t>(layout.regions())) {}

  void message(Rank from, Rank to, double bytes) {
    const bool crosses = layout_.region(from) != layout_.region(to);
    (crosses ? crosses_ : stays_) = true;
    ranks_[static_cast<std::size_t>(from)][crosses ? 0 : 1].add(bytes);
    ranks_[static_cast<std::size_t>(to)][crosses ? 2 : 3].add(bytes);
    (crosses ? all_.network.messages : all_.node.messages) += 1;
    (crosses ? all_.network.bytes : all_.node.bytes) += bytes;
    (crosses ? all_.network.waits : all_.node.waits) += 1;
    if (!crosses) return;
    nodes_[static_cast<std::size_t>(layout_.region(from))][0].add(bytes);
    nodes_[static_cast<std::size_t>(layout_.region(to))][1].add(bytes);
  }
  void end_round() {
    network_rounds_ += crosses_;
    node_rounds_ += stays_ && !crosses_;
    crosses_ = stays_ = false;
  }
  void shift(Rank distance, double bytes, bool around = true) {
    const Rank n = layout_.ranks();
    for (Rank rank = 0; rank < n; ++rank)
      if (around || rank + distance < n) message(rank, (rank + distance) % n, bytes);
    end_round();
  }

  [[nodiscard]] DenseCost cost(double combined) const {
    DenseCost cost;
    cost.node.waits = node_rounds_;
    cost.network.waits = network_rounds_;
    for (const auto& rank : ranks_) {
      cost.node.messages = std::max({cost.node.messages, rank[1].messages, rank[3].messages});
      cost.node.bytes = std::max({cost.node.bytes, rank[1].bytes, rank[3].bytes});
      cost.network.messages = std::max({cost.network.messages, rank[0].messages, rank[2].messages});
      cost.network.bytes = std::max({cost.network.bytes, rank[0].bytes, rank[2].bytes});
    }
    for (const auto& node : nodes_) {
      cost.injected.messages = std::max({cost.injected.messages, node[0].messages, node[1].messages});
      cost.injected.bytes = std::max({cost.injected.bytes, node[0].bytes, node[1].bytes});
    }
    cost.combined_bytes = combined;
    cost.all = all_;
    cost.all.combined_bytes = combined * layout_.ranks();
    return cost;
  }

 private:
  struct Sum {
    double messages = 0;
    double bytes = 0;

    void add(double more) {
      messages += 1;
      bytes += more;
    }
  };
  const Layout& layout_;
  std::vector<std::array<Sum, 4>> ranks_;  // sent to other nodes, inside; got from other nodes, inside
  std::vector<std::array<Sum, 2>> nodes_;  // sent, got
  Flows all_;
  double node_rounds_ = 0;
  double network_rounds_ = 0;
  bool crosses_ = false;
  bool stays_ = false;
};

/// Of pairs that a power of two separates, the ranks beyond a power of two left out. `exchange`: with each distance.
void count_pairs_of(const Layout& layout, Counter& counter, double folded,
                    const std::function<void(Rank numbers, const std::function<void(Rank, double)>&)>& exchange) {
  Rank numbers = 1;
  while (2 * numbers <= layout.ranks()) numbers *= 2;
  const Rank pairs = layout.ranks() - numbers;
  const auto rank = [&](Rank number) { return number < pairs ? 2 * number : number + pairs; };
  for (Rank pair = 0; pair < pairs; ++pair) counter.message(2 * pair + 1, 2 * pair, folded);
  counter.end_round();
  exchange(numbers, [&](Rank distance, double bytes) {
    for (Rank number = 0; number < numbers; ++number) counter.message(rank(number), rank(number ^ distance), bytes);
    counter.end_round();
  });
  for (Rank pair = 0; pair < pairs; ++pair) counter.message(2 * pair, 2 * pair + 1, folded);
  counter.end_round();
}

DenseCost halves(const Shape& s) {
  Counter counter(s.layout);
  bool is_whole = true;
  count_pairs_of(s.layout, counter, s.bytes, [&](Rank numbers, const auto& exchange) {
    is_whole = numbers == s.layout.ranks();
    for (Rank half = numbers / 2; half > 0; half /= 2) exchange(half, s.bytes * half / numbers);
    for (Rank half = 1; half < numbers; half *= 2) exchange(half, s.bytes * half / numbers);
  });
  return counter.cost(s.bytes * (is_whole ? 2 : 3));
}

DenseCost doubling(const Shape& s) {
  Counter counter(s.layout);
  count_pairs_of(s.layout, counter, s.bytes, [&](Rank numbers, const auto& exchange) {
    for (Rank distance = 1; distance < numbers; distance *= 2) exchange(distance, s.bytes);
  });
  return counter.cost((rounds(s.ranks) + 1) * s.bytes);
}

DenseCost ring(const Shape& s, double bytes, double steps, double copied) {
  Counter counter(s.layout);
  counter.shift(1, bytes);
  DenseCost cost = times(counter.cost(0), steps);
  cost.combined_bytes = copied;
  cost.all.combined_bytes = copied * s.ranks;
  return cost;
}

DenseCost half_of(DenseCost cost, const Shape& s) {
  cost = times(cost, 0.5);
  cost.combined_bytes = 2 * s.bytes;
  cost.all.combined_bytes = 2 * s.bytes * s.ranks;
  return cost;
}

DenseCost shifts(const Shape& s, bool around, double combined, const std::function<double(Rank)>& bytes) {
  Counter counter(s.layout);
  for (Rank distance = 1; distance < s.layout.ranks(); distance *= 2) counter.shift(distance, bytes(distance), around);
  return along_ways(counter.cost(combined), s.layout);
}

double with_bit(Rank n, Rank bit) {
  double blocks = 0;
  for (Rank j = 0; j < n; ++j) blocks += (j & bit) != 0;
  return blocks;
}

DenseCost alltoall_bruck(const Shape& s) {
  const Rank n = s.layout.ranks();
  double copied = 0;
  for (Rank bit = 1; bit < n; bit *= 2) copied += with_bit(n, bit) * s.bytes;
  return shifts(s, true, copied, [&](Rank bit) { return with_bit(n, bit) * s.bytes; });
}

DenseCost allgather_bruck(const Shape& s) {
  return shifts(s, true, 0, [&](Rank distance) { return std::min(distance, s.layout.ranks() - distance) * s.bytes; });
}

DenseCost allgather_node_aware(const Shape& s) {
  const Rank n = s.layout.regions();
  Counter counter(s.layout);
  for (Rank distance = 1; distance < n; distance *= 2) {
    for (Rank i = 0; i < n; ++i) {
      double blocks = 0;
      for (Rank j = 0; j < std::min(distance, n - distance); ++j) blocks += s.layout.size((i + j) % n);
      counter.message(s.layout.leader(i), s.layout.leader((i - distance + n) % n), blocks * s.bytes);
    }
    counter.end_round();
  }
  const double steps = rounds(s.members);
  const double busy = s.members > 1 ? (s.ranks - s.nodes) / steps : 0;
  return add(add(with_leaders(s),
                 inside(s, steps, steps * segments(s, s.ranks * s.bytes), steps * s.ranks * s.bytes, 0, busy)),
             counter.cost(0));
}

DenseCost tree_binomial(const Shape& s) {
  const Rank n = s.layout.ranks();
  const auto rank = [&](Rank v) { return (s.facts.root + v) % n; };
  const auto parent = [](Rank v) { return v & (v - 1); };
  const auto crosses = [&](Rank v) { return s.layout.region(rank(v)) != s.layout.region(rank(parent(v))); };
  Counter counter(s.layout);
  std::vector<double> sends(static_cast<std::size_t>(n), 0);
  for (Rank v = 1; v < n; ++v) {
    counter.message(rank(parent(v)), rank(v), s.bytes);
    sends[static_cast<std::size_t>(parent(v))] += crosses(v);
  }
  double far = 0;
  double longest = 0;
  for (Rank v = 1; v < n; ++v) {
    double hops = 0;
    double messages = 0;
    for (Rank u = v; u != 0; u = parent(u)) {
      hops += crosses(u);
      messages += crosses(u) ? sends[static_cast<std::size_t>(parent(u))] : 0;
    }
    far = std::max(far, hops);
    longest = std::max(longest, messages);
  }
  DenseCost cost = one_way(counter.cost(0));
  cost.network.waits = far;
  cost.node.waits = std::max(rounds(s.ranks) - far, 0.0);
  cost.network.messages = std::max(cost.network.messages, longest);
  cost.network.bytes = std::max(cost.network.bytes, longest * s.bytes);
  cost.combined_bytes = s.sums * rounds(s.ranks) * s.bytes;
  cost.all.combined_bytes = s.sums * (s.ranks - 1) * s.bytes;
  cost.all.node.waits /= s.sums + 1;
  cost.all.network.waits /= s.sums + 1;
  return cost;
}

DenseCost gather_binomial(const Shape& s) {
  const Rank n = s.layout.ranks();
  Counter counter(s.layout);
  double copied = 0;
  for (Rank v = 1; v < n; ++v) {
    const Rank below = std::min(v & -v, n - v);
    counter.message((s.facts.root + v) % n, (s.facts.root + (v & (v - 1))) % n, below * s.bytes);
    if (below > 1) copied += below * s.bytes;
  }
  DenseCost cost = one_way(counter.cost(0));
  cost.node.waits = rounds(s.members);
  cost.network.waits = rounds(s.ranks) - cost.node.waits;
  cost.combined_bytes = s.ranks / 2 * s.bytes;
  cost.all.combined_bytes = copied;
  cost.all.node.waits /= 2;
  cost.all.network.waits /= 2;
  return cost;
}

DenseCost cost_of(const DenseRule& rule, const DenseFacts& facts, const Layout& layout) {
  const DenseSettings settings;
  return rule.cost({facts, layout, settings});
}

using Expect = std::function<DenseCost(const Shape&)>;

/// Of the rules whose messages depend on where nodes begin.
const std::map<std::pair<Dense, std::string>, Expect>& expectations() {
  static const Expect scan = [](const Shape& s) {
    return shifts(s, false, rounds(s.ranks) * s.bytes, [&](Rank) { return s.bytes; });
  };
  static const std::map<std::pair<Dense, std::string>, Expect> all{
      {{Dense::allreduce, "recursive_doubling"}, doubling},
      {{Dense::allreduce, "rabenseifner"}, halves},
      {{Dense::reduce_scatter, "recursive_halving"}, [](const Shape& s) { return half_of(halves(s), s); }},
      {{Dense::allreduce, "ring"},
       [](const Shape& s) { return ring(s, s.bytes / s.ranks, 2 * (s.ranks - 1), (2 - 1 / s.ranks) * s.bytes); }},
      {{Dense::reduce_scatter, "ring"},
       [](const Shape& s) { return half_of(ring(s, s.bytes / s.ranks, 2 * (s.ranks - 1), 0), s); }},
      {{Dense::allgather, "ring"}, [](const Shape& s) { return ring(s, s.bytes, s.ranks - 1, 0); }},
      {{Dense::allgather, "bruck"}, allgather_bruck},
      {{Dense::allgather, "node_aware"}, allgather_node_aware},
      {{Dense::alltoall, "bruck"}, alltoall_bruck},
      {{Dense::bcast, "binomial"}, tree_binomial},
      {{Dense::reduce, "binomial"}, tree_binomial},
      {{Dense::gather, "binomial"}, gather_binomial},
      {{Dense::scatter, "binomial"}, gather_binomial},
      {{Dense::scan, "recursive_doubling"}, scan},
      {{Dense::exscan, "recursive_doubling"}, scan},
      {{Dense::barrier, "dissemination"}, [](const Shape& s) { return shifts(s, true, 0, [](Rank) { return 1.0; }); }},
  };
  return all;
}

std::vector<double> numbers(const DenseCost& cost) {
  std::vector<double> all{cost.combined_bytes, cost.all.combined_bytes};
  for (const Flow& flow : {cost.node, cost.network, cost.injected, cost.all.node, cost.all.network})
    all.insert(all.end(), {flow.messages, flow.bytes, flow.waits});
  return all;
}

void compare(const DenseCost& cost, const DenseCost& expected, const std::string& what) {
  const std::vector<double> one = numbers(cost);
  const std::vector<double> other = numbers(expected);
  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR(one[i], other[i], 1e-9 * std::max({1.0, std::abs(one[i]), std::abs(other[i])}))
        << what << ": number " << i;
  EXPECT_EQ(cost.ways, expected.ways) << what;
  EXPECT_EQ(cost.at_once, expected.at_once) << what;
}

/// Nodes of one size, of few or of many, one after the other or dealt; sometimes those of ranks put one by one.
std::vector<Rank> random_regions(cases::Random& random, Rank most_nodes) {
  std::vector<Rank> sizes(static_cast<std::size_t>(random.between(1, most_nodes)));
  const Rank most = random.one_of<Rank>({1, 2, 4, 8, 13, 16, 24, 40});
  Rank size = random.chance(40) ? most : static_cast<Rank>(random.between(1, most));
  const bool even = random.chance(60);
  for (Rank& each : sizes) {
    if (!even && random.chance(30)) size = static_cast<Rank>(random.between(1, most));
    each = size;
  }
  if (random.chance(20)) sizes.back() = 1;
  if (random.chance(10))
    std::fill(sizes.begin() + random.between(0, most_nodes) % static_cast<Rank>(sizes.size()), sizes.end(), 1);
  const bool dealt = random.chance(25);
  std::vector<Rank> regions;
  const Rank all = std::accumulate(sizes.begin(), sizes.end(), 0);
  for (std::size_t i = 0; static_cast<Rank>(regions.size()) < all; i = (i + 1) % sizes.size()) {
    const Rank taken = dealt ? std::min(sizes[i], 1) : sizes[i];
    regions.insert(regions.end(), static_cast<std::size_t>(taken), static_cast<Rank>(i));
    sizes[i] -= taken;
  }
  if (random.chance(12)) random.shuffle(regions);
  return regions;
}

TEST(DenseCosts, AreWhatAllMessagesTogetherAre) {
  std::size_t counted = 0;
  for (const DenseRule& rule : dense_rules()) counted += expectations().count({rule.kind, std::string(rule.name)});
  ASSERT_EQ(counted, expectations().size());
  const std::uint64_t seeds = cases::effort(500);
  const DenseSettings settings;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    cases::Random random(seed);
    const Layout layout(random_regions(random, seed % 25 == 0 ? 150 : 12));
    const Rank root = random.chance(40) ? 0 : static_cast<Rank>(random.between(0, layout.ranks() - 1));
    const std::int64_t bytes = random.one_of<std::int64_t>({0, 1, 100, 4096, 1 << 20});
    for (const DenseRule& rule : dense_rules()) {
      const auto found = expectations().find({rule.kind, std::string(rule.name)});
      if (found == expectations().end()) continue;
      const DenseFacts facts{rule.kind, root, bytes, 8, false, true};
      const std::string what = "seed " + std::to_string(seed) + ", " + name(rule.kind) + " " + std::string(rule.name) +
                               " of " + std::to_string(bytes) + " bytes, root " + std::to_string(root) + ", " +
                               std::to_string(layout.ranks()) + " ranks on " + std::to_string(layout.regions());
      compare(cost_of(rule, facts, layout), found->second(Shape(facts, layout, settings)), what);
    }
    if (HasFailure()) return;
  }
}

/// What the other rules' costs are put together of.
TEST(DenseCosts, ShapesAreCounted) {
  for (std::uint64_t seed = 1; seed <= cases::effort(200); ++seed) {
    cases::Random random(seed);
    const Layout layout(random_regions(random, 9));
    const DenseFacts facts{Dense::scan, static_cast<Rank>(random.between(0, layout.ranks() - 1)), 8, 8, false, true};
    const DenseSettings settings;
    const Shape s(facts, layout, settings);
    double near = 0;
    double far = 0;
    double home = 0;
    for (Rank a = 0; a < layout.ranks(); ++a) {
      home += layout.region(a) == layout.region(facts.root);
      for (Rank b = 0; b < layout.ranks(); ++b)
        if (a != b) (layout.region(a) == layout.region(b) ? near : far) += 1;
    }
    EXPECT_EQ(s.inside_pairs, near);
    EXPECT_EQ(s.across_pairs, far);
    EXPECT_EQ(s.home, home);
    double scans = -s.home - (s.nodes - 1) + s.ranks;
    for (Rank region = 0; region < layout.regions(); ++region)
      for (Rank distance = 1; distance < layout.size(region); distance *= 2) scans += layout.size(region) - distance;
    EXPECT_EQ(cost_of(find_dense_rule(Dense::scan, "node_aware"), facts, layout).all.node.messages, scans);
  }
}

Layout even(Rank ranks, bool last_is_smaller = false) {
  std::vector<Rank> regions;
  for (Rank rank = 0; rank < ranks - (last_is_smaller ? 5 : 0); ++rank) regions.push_back(rank / 16);
  return Layout(regions);
}

double sum_of_costs(const Layout& layout) {
  double sum = 0;
  for (const DenseRule& rule : dense_rules())
    sum += cost_of(rule, {rule.kind, 0, 1000, 8, false, true}, layout).network.bytes;
  return sum;
}

TEST(DenseCosts, TakeNoMemory) {
  for (const bool last_is_smaller : {false, true}) {
    const Layout layout = even(16384, last_is_smaller);
    (void)dense_rules();
    const std::int64_t before = allocated_bytes_so_far();
    EXPECT_GT(sum_of_costs(layout), 0);
    EXPECT_EQ(allocated_bytes_so_far(), before);
  }
  // A choice allocates the list of candidates, and a sentence that has the number of ranks.
  const Parameters parameters = Parameters::read("default-hpc");
  const auto bytes_of_choice = [&](Rank ranks) {
    const Layout layout = even(ranks);
    const std::int64_t before = allocated_bytes_so_far();
    (void)choose_dense_rule({Dense::allreduce, 0, 1000, 8, false, true}, layout, parameters);
    return allocated_bytes_so_far() - before;
  };
  EXPECT_LE(bytes_of_choice(16384), bytes_of_choice(64) + 500);
}

/// 256 times the ranks take more rounds, and no more: a look at each rank would take some 250 times as long.
TEST(DenseCosts, TakeNoTimeThatGrowsWithTheRanks) {
  const auto seconds = [](const Layout& layout) {
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < 15; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_GT(sum_of_costs(layout), 0);
      least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return least;
  };
  EXPECT_LT(seconds(even(16384)), 30 * seconds(even(64)));
  EXPECT_LT(seconds(even(16384, true)), 60 * seconds(even(64, true)));
}

}  // namespace
}  // namespace laneway::dense::counted
