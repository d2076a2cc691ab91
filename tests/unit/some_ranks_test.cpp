#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/bytes/mix.hpp"
#include "base/error.hpp"
#include "cases.hpp"
#include "offline/random_graphs.hpp"
#include "offline/virtual_ranks.hpp"

namespace laneway {
namespace {

/// Nodes of 1 to 12 ranks.
std::string uneven_nodes(Rank ranks) {
  std::string text = "ranks:";
  for (Rank left = ranks, n = 0; left > 0; ++n) {
    const auto size = std::min(left, static_cast<Rank>(1 + mix(static_cast<std::uint64_t>(n)) % 12));
    left -= size;
    text += std::to_string(size) + (left > 0 ? "," : "");
  }
  return text;
}

/// Messages of different sizes, of which those of one source overlap.
RankPattern uneven_pattern(const std::string& graph, Rank rank, Rank ranks) {
  const auto bytes = [](Rank source, Rank destination) {
    return static_cast<std::int64_t>(
        8 + mix(static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint64_t>(destination)) % 300);
  };
  const Neighborhood peers = neighborhood(graph, rank, ranks);
  RankPattern pattern;
  for (Rank destination : peers.destinations)
    pattern.out.push_back({destination, {{(destination % 5) * 40, bytes(rank, destination)}}});
  std::int64_t at = 0;
  for (Rank source : peers.sources) {
    pattern.in.push_back({source, {{at, bytes(source, rank)}}});
    at += bytes(source, rank);
  }
  return pattern;
}

/// The ranks of every `stride`-th node, the first and the last among them.
std::vector<Rank> ranks_of_some_nodes(const Machine& machine, int stride) {
  std::vector<Rank> nodes;
  for (Rank rank = 0; rank < machine.ranks(); ++rank)
    if (machine.region_id(0, rank) == rank) nodes.push_back(rank);
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (i % static_cast<std::size_t>(stride) == 0 || i + 1 == nodes.size())
      for (Rank member : machine.region(0, nodes[i]).members) ranks.push_back(member);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

template <class T>
std::vector<T> of(const std::vector<T>& all, const std::vector<Rank>& ranks) {
  std::vector<T> result;
  for (Rank rank : ranks) result.push_back(all[static_cast<std::size_t>(rank)]);
  return result;
}

/// Compares with the plans that all ranks make together. `ranks`: those that are planned alone.
void expect_the_same(const Pattern& pattern, const Machine& machine, const std::vector<Rank>& ranks,
                     const Levels& levels, const Parameters& parameters, const std::string& what) {
  const LoweringOptions lowering{.relay_message_bytes = 256, .network_message_bytes = 512};
  const VirtualSetup all = plan_virtual_ranks(pattern, machine, levels, {}, lowering, &parameters);
  const PatternOf one = [&](Rank rank) { return pattern[static_cast<std::size_t>(rank)]; };
  const VirtualSetup some = plan_some_virtual_ranks(one, machine, levels, ranks, {}, lowering, &parameters);
  ASSERT_TRUE(some.plans == of(all.plans, ranks)) << what;
  const std::vector<SetupCost> costs = of(all.costs, ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ASSERT_EQ(some.costs[i].control_messages_sent, costs[i].control_messages_sent) << what << ", rank " << ranks[i];
    ASSERT_EQ(some.costs[i].control_bytes_sent, costs[i].control_bytes_sent) << what << ", rank " << ranks[i];
    ASSERT_EQ(some.costs[i].region_gathers, costs[i].region_gathers) << what << ", rank " << ranks[i];
    ASSERT_EQ(some.costs[i].region_gather_bytes, costs[i].region_gather_bytes) << what << ", rank " << ranks[i];
  }
}

/// Every strategy that needs no grid.
std::vector<std::string> strategies_on_nodes() {
  std::vector<std::string> names;
  for (const StrategyRow& row : strategies()) {
    if (row.traits.needs == Traits::Needs::grid) continue;
    names.emplace_back(row.name);
    names.push_back(std::string(row.name) + "_nodedup");
  }
  return names;
}

TEST(SomeRanks, HaveThePlansThatAllRanksTogetherMake) {
  const Rank ranks = cases::sanitized ? 96 : 240;
  const Parameters parameters = Parameters::read("default-hpc");
  const Machine machine = Machine::parse(uneven_nodes(ranks), ranks);
  const std::vector<Rank> some = ranks_of_some_nodes(machine, 11);
  for (const std::string graph : {"stencil:points=27", "moore:d=2,r=2", "local:d=2,r=4,degree=12"}) {
    Pattern pattern;
    for (Rank rank = 0; rank < ranks; ++rank) pattern.push_back(uneven_pattern(graph, rank, ranks));
    for (const std::string& strategy : strategies_on_nodes())
      expect_the_same(pattern, machine, some, choose_levels(strategy), parameters, strategy + ", " + graph);
  }
}

TEST(SomeRanks, HaveThePlansThatAllRanksTogetherMakeAtTwoThousandRanks) {
  if (cases::sanitized) GTEST_SKIP() << "takes long under sanitizers, and is the same with fewer ranks";
  constexpr Rank ranks = 2000;
  const Parameters parameters = Parameters::read("lassen");
  const Machine machine = Machine::parse(uneven_nodes(ranks), ranks);
  const std::vector<Rank> some = ranks_of_some_nodes(machine, 101);
  Pattern pattern;
  for (Rank rank = 0; rank < ranks; ++rank) pattern.push_back(uneven_pattern("local:d=3,r=2,degree=20", rank, ranks));
  for (const std::string strategy : {"three_step", "split"})
    expect_the_same(pattern, machine, some, choose_levels(strategy), parameters, strategy);
}

TEST(SomeRanks, HaveTheSamePlansWithLevelsInside) {
  constexpr Rank ranks = 96;
  const Parameters parameters = Parameters::read("default-hpc");
  const Machine machine = Machine::parse("node:12 socket:2 rank:4", ranks);
  Pattern pattern;
  for (Rank rank = 0; rank < ranks; ++rank) pattern.push_back(uneven_pattern("stencil:points=27", rank, ranks));
  for (const std::string strategy : {"node:three_step,socket:two_step", "node:direct,socket:three_step",
                                     "socket:three_step", "socket:leader_scatter"})
    expect_the_same(pattern, machine, ranks_of_some_nodes(machine, 5), choose_levels(strategy), parameters, strategy);
}

TEST(SomeRanks, HaveTheSamePlansOnGrids) {
  const Parameters parameters = Parameters::read("default-hpc");
  for (const std::string grid : {"8x9", "6x4x5"}) {
    const bool planar = grid == "8x9";
    const Rank ranks = planar ? 72 : 120;
    const Levels levels = choose_levels("cartesian_combining", grid);
    Pattern pattern;
    for (Rank rank = 0; rank < ranks; ++rank)
      pattern.push_back(uneven_pattern((planar ? "moore:d=2,r=1,dims=" : "moore:d=3,r=1,dims=") + grid, rank, ranks));
    // A few ranks of a line; the line is planned with them.
    expect_the_same(pattern, Machine::parse(levels.grid, ranks), {10, 11, 12, ranks - 1}, levels, parameters, grid);
  }
}

TEST(SomeRanks, HaveTheSamePlansWhateverThePatternIs) {
  const Parameters parameters = Parameters::read("default-ethernet");
  for (std::uint64_t seed = 0; seed < cases::effort(60); ++seed) {
    const cases::Case c = cases::make_case(seed);
    const std::vector<Rank> some = ranks_of_some_nodes(c.machine, 3);
    for (const std::string strategy : {"three_step", "split", "common_neighborhood", "leader_scatter"})
      expect_the_same(c.pattern, c.machine, some, choose_levels(strategy), parameters,
                      strategy + ", seed " + std::to_string(seed));
  }
}

TEST(SomeRanks, ChooseForAll) {
  constexpr Rank ranks = 256;
  const Parameters parameters = Parameters::read("lassen");
  const Machine machine = Machine::parse("node:16 rank:16", ranks);
  const Levels levels = choose_levels("auto");
  const std::vector<Rank> some = ranks_of_some_nodes(machine, 7);
  // Messages of one node, which is not among them, may be larger than all others.
  constexpr Rank heavy_node = 6;
  std::set<std::size_t> chosen;
  int all_choose_otherwise = 0;
  for (const auto& [bytes, heavy_bytes] :
       {std::pair(8, 8), std::pair(4096, 4096), std::pair(262144, 262144), std::pair(8, 2048), std::pair(8, 1048576)}) {
    const auto size = [&, small = bytes, large = heavy_bytes](Rank source) {
      return source / 16 == heavy_node ? large : small;
    };
    const PatternOf one = [&](Rank rank) {
      const Neighborhood peers = neighborhood("local:d=2,r=3,degree=20", rank, ranks);
      RankPattern pattern;
      for (Rank destination : peers.destinations) pattern.out.push_back({destination, {{0, size(rank)}}});
      std::int64_t at = 0;
      for (Rank source : peers.sources) {
        pattern.in.push_back({source, {{at, size(source)}}});
        at += size(source);
      }
      return pattern;
    };
    const VirtualSetup setup = plan_some_virtual_ranks(one, machine, levels, some, {}, {}, &parameters);
    const StrategyRow* row = levels.choices.front().choice.rows()[setup.selection.chosen];
    chosen.insert(setup.selection.chosen);
    const Levels alone = choose_levels(row->name);
    EXPECT_TRUE(setup.plans == plan_some_virtual_ranks(one, machine, alone, some).plans) << row->name;
    Pattern pattern;
    for (Rank rank = 0; rank < ranks; ++rank) pattern.push_back(one(rank));
    const VirtualSetup all = plan_virtual_ranks(pattern, machine, levels, {}, {}, &parameters);
    all_choose_otherwise += all.selection.chosen != setup.selection.chosen ? 1 : 0;
    for (std::size_t i = 0; i < all.selection.predictions.size(); ++i)
      EXPECT_LE(setup.selection.predictions[i].seconds, all.selection.predictions[i].seconds);
  }
  EXPECT_GT(chosen.size(), 1U);
  EXPECT_GT(all_choose_otherwise, 0);
}

TEST(SomeRanks, AskForFewOthers) {
  constexpr Rank ranks = 1000000;
  const Machine machine = Machine::parse("node:62500 rank:16", ranks);
  std::set<Rank> asked;
  const PatternOf one = [&](Rank rank) {
    asked.insert(rank);
    return allgather_pattern(neighborhood("moore:d=2,r=2,dims=1000x1000", rank, ranks), 64);
  };
  const std::vector<Rank> some = machine.region(0, 500000).members;
  EXPECT_EQ(plan_some_virtual_ranks(one, machine, choose_levels("direct"), some).plans.size(), some.size());
  EXPECT_EQ(asked.size(), some.size());
  EXPECT_EQ(plan_some_virtual_ranks(one, machine, choose_levels("three_step"), some).plans.size(), some.size());
  // Three times two rows on either side, and nodes on both ends of each row.
  EXPECT_LE(asked.size(), std::size_t{13 * 16 * 9});
}

TEST(SomeRanks, EdgesOfWhichOneSideKnowsNothingAreAnError) {
  const PatternOf one = [](Rank rank) {
    RankPattern pattern;
    if (rank == 0) pattern.in.push_back({3, {{0, 8}}});
    return pattern;
  };
  const std::vector<Rank> some = {0, 1};
  EXPECT_THROW(
      (void)plan_some_virtual_ranks(one, Machine::parse("node:2 rank:2", 4), choose_levels("three_step"), some), Error);
}

}  // namespace
}  // namespace laneway
