#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cases.hpp"
#include "described.hpp"
#include "machine/fabric.hpp"
#include "machine/parameters.hpp"
#include "offline/random_graphs.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {
namespace {

/// Bytes that each rank sends to each other one.
using Traffic = std::map<std::pair<Rank, Rank>, std::int64_t>;

/// `bytes` bytes from `source` to all `destinations`, on a machine of one or more nodes of eight GCDs.
Traffic allgather(const std::string& node, Rank ranks, Rank source, const std::vector<Rank>& destinations,
                  std::int64_t bytes, const std::string& outer = "leader_scatter") {
  Pattern pattern(static_cast<std::size_t>(ranks));
  for (Rank destination : destinations) {
    pattern[static_cast<std::size_t>(source)].out.push_back({destination, {{0, bytes}}});
    pattern[static_cast<std::size_t>(destination)].in.push_back({source, {{0, bytes}}});
  }
  const Machine machine = cases::described(node, ranks);
  StrategySettings settings;
  settings.fabric = Fabric::of(machine);
  const auto strategy = make_strategy(outer, settings);
  const auto inside = make_strategy("leader_scatter", settings);
  const std::vector<const Strategy*> inner = {inside.get()};
  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *strategy, {}, inner);
  const Report report = verify(setup.plans, pattern);
  EXPECT_TRUE(report.ok) << to_string(report);
  Traffic traffic;
  for (const Plan& plan : setup.plans)
    for (const Step& step : plan.steps)
      if (step.kind == StepKind::send) traffic[{plan.rank, step.peer}] += step.span.bytes;
  return traffic;
}

constexpr std::int64_t m = 4096;

TEST(LeaderScatter, MachinesAgreeWithTheText) {
  const auto mi250 = Fabric::of(cases::described("mi250-ib", 8));
  EXPECT_EQ(mi250->hops(0, 4), 1);
  EXPECT_EQ(mi250->hops(0, 2), 2);
  EXPECT_GT(mi250->links(1, 3), 0);
  EXPECT_EQ(mi250->links(1, 2), 0);
  EXPECT_EQ(mi250->links(6, 4) + mi250->links(6, 5), 0);
  const auto mi250x = Fabric::of(cases::described("frontier-like", 16));
  EXPECT_EQ(mi250x->links(0, 6), 2);
  EXPECT_EQ(mi250x->links(8, 14), 2);
  EXPECT_TRUE(mi250x->joins(8, 15));
  EXPECT_FALSE(mi250x->joins(0, 8));
}

/// Figure 2: no links from GCD 6 to the GPU of 4 and 5; equal hops, so halves, which 4 and 5 exchange.
TEST(LeaderScatter, ScattersByHops) {
  EXPECT_EQ(allgather("mi250-ib", 8, 6, {4, 5}, m),
            (Traffic{{{6, 4}, m / 2}, {{6, 5}, m / 2}, {{4, 5}, m / 2}, {{5, 4}, m / 2}}));
}

/// Figure 3: a link joins 1 to 3 but not to 2, so 3 gets all and forwards it.
TEST(LeaderScatter, ScattersByLinks) {
  EXPECT_EQ(allgather("mi250-ib", 8, 1, {2, 3}, m), (Traffic{{{1, 3}, m}, {{3, 2}, m}}));
}

TEST(LeaderScatter, OneDestinationOrAPeerGetsAll) {
  EXPECT_EQ(allgather("frontier-like", 8, 3, {6}, m), (Traffic{{{3, 6}, m}}));
  EXPECT_EQ(allgather("frontier-like", 8, 3, {2}, m), (Traffic{{{3, 2}, m}}));
}

/// With the links of the MI250X, GPU 1 (GCDs 2 and 3) has one link to 0 and none to 1 from GCD 2.
TEST(LeaderScatter, UnequalLinks) {
  EXPECT_EQ(allgather("frontier-like", 8, 0, {6, 7}, m), (Traffic{{{0, 6}, m}, {{6, 7}, m}}));
  EXPECT_EQ(allgather("frontier-like", 8, 4, {6, 7}, m), (Traffic{{{4, 6}, m}, {{6, 7}, m}}));
}

/// Figure 4: both ranks of one GPU on another node: the message once, and a forward.
TEST(LeaderScatter, AllDestinationsArePeers) {
  EXPECT_EQ(allgather("frontier-like", 16, 0, {8, 9}, m), (Traffic{{{0, 8}, m}, {{8, 9}, m}}));
}

/// Figure 5: GCDs 0 to 3 of another node: halves to the two leaders, which exchange them and forward all to their
/// peers.
TEST(LeaderScatter, SomeDestinationsArePeers) {
  EXPECT_EQ(
      allgather("frontier-like", 16, 0, {8, 9, 10, 11}, m),
      (Traffic{{{0, 8}, m / 2}, {{0, 10}, m / 2}, {{8, 10}, m / 2}, {{10, 8}, m / 2}, {{8, 9}, m}, {{10, 11}, m}}));
}

/// Figure 6: no peers: scatter and exchange only.
TEST(LeaderScatter, NoDestinationsArePeers) {
  EXPECT_EQ(allgather("frontier-like", 16, 0, {8, 10}, m),
            (Traffic{{{0, 8}, m / 2}, {{0, 10}, m / 2}, {{8, 10}, m / 2}, {{10, 8}, m / 2}}));
}

/// Where Algorithm 2 as printed goes wrong: G0 expects half although it is sent all, and nothing is sent where no
/// destination is a leader.
TEST(LeaderScatter, DestinationsThatAreNoLeaders) {
  EXPECT_EQ(allgather("frontier-like", 16, 0, {9}, m), (Traffic{{{0, 9}, m}}));
  EXPECT_EQ(allgather("frontier-like", 16, 0, {8, 11}, m),
            (Traffic{{{0, 8}, m / 2}, {{0, 11}, m / 2}, {{8, 11}, m / 2}, {{11, 8}, m / 2}}));
  EXPECT_EQ(allgather("frontier-like", 16, 0, {9, 11}, m),
            (Traffic{{{0, 9}, m / 2}, {{0, 11}, m / 2}, {{9, 11}, m / 2}, {{11, 9}, m / 2}}));
}

/// Three GPUs and a size that three does not divide: the last one takes the remainder.
TEST(LeaderScatter, TheLastPartTakesTheRemainder) {
  const Traffic traffic = allgather("frontier-like", 16, 0, {8, 10, 12}, 100);
  EXPECT_EQ(traffic.at({0, 8}) + traffic.at({0, 10}) + traffic.at({0, 12}), 100);
  EXPECT_EQ(traffic.at({0, 8}), 32);
  EXPECT_EQ(traffic.at({0, 12}), 36);
}

/// Over nodes three_step, inside them leader_scatter for what stays.
TEST(LeaderScatter, InsideAnotherStrategy) {
  EXPECT_EQ(allgather("mi250-ib", 8, 6, {4, 5}, m, "three_step"),
            (Traffic{{{6, 4}, m / 2}, {{6, 5}, m / 2}, {{4, 5}, m / 2}, {{5, 4}, m / 2}}));
}

/// Between nodes with GPUs `auto` has it beside all others; elsewhere no strategy of two levels.
TEST(LeaderScatter, IsACandidateBetweenNodesOfGpus) {
  const auto names = [](StrategyChoice choice) {
    std::vector<std::string> all;
    for (const StrategyRow* row : choice.rows()) all.emplace_back(row->name);
    return all;
  };
  EXPECT_EQ(std::ranges::count(names({}), "leader_scatter"), 0);
  EXPECT_EQ(names({.by_fabric = true}), (std::vector<std::string>{"direct", "multi_path"}));
  std::vector<std::string> between = names({.by_gpus = true});
  EXPECT_EQ(std::erase(between, "leader_scatter"), 1U);
  EXPECT_EQ(between, names({}));
}

VirtualSetup chosen_between_nodes(const Pattern& pattern, const char* node, const Parameters& parameters, Rank few) {
  return plan_virtual_ranks(pattern, cases::described(node, static_cast<Rank>(pattern.size())), choose_levels("auto"),
                            {}, {}, &parameters, few, true);
}

/// Returns what is chosen, which is proven, and what that strategy plans alone.
std::string proven_choice(const Pattern& pattern, const char* node, const Parameters& parameters, Rank few = 0) {
  const VirtualSetup setup = chosen_between_nodes(pattern, node, parameters, few);
  const Report report = verify(setup.plans, pattern);
  EXPECT_TRUE(report.ok) << to_string(report);
  std::string name{setup.strategies[setup.selection.chosen]->name};
  const Machine machine = cases::described(node, static_cast<Rank>(pattern.size()));
  EXPECT_EQ(setup.plans, plan_virtual_ranks(pattern, machine, choose_levels(name)).plans) << name;
  return name;
}

/// Whether regions choose, or the first rank does for all.
TEST(LeaderScatter, WhatIsChosenIsProvenAndThatOfTheStrategyAlone) {
  std::map<std::string, int> chosen;
  for (std::uint64_t seed = 0; seed < cases::effort(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    cases::Random random(seed);
    const char* const node = random.chance(50) ? "mi250-ib" : "frontier-like";
    const bool same = random.chance(70);
    const std::int64_t bytes = std::int64_t{8} << random.between(0, 17);
    const auto percent = static_cast<int>(random.between(2, 90));
    Pattern pattern(16);
    for (Rank a = 0; a < 16; ++a)
      for (Rank b = 0; b < 16; ++b) {
        if (!random.chance(percent)) continue;
        pattern[static_cast<std::size_t>(a)].out.push_back({b, {{same ? 0 : b * bytes, bytes}}});
        pattern[static_cast<std::size_t>(b)].in.push_back({a, {{a * bytes, bytes}}});
      }
    const Parameters parameters = Parameters::read(node);
    for (const Rank few : {Rank{0}, Rank{16}}) ++chosen[proven_choice(pattern, node, parameters, few)];
  }
  EXPECT_GT(chosen.size(), 2U);
}

/// On this graph of four nodes it is the fastest in simulations, with blocks of 1 MiB by 2% (bench/results).
TEST(LeaderScatter, IsChosenWhereItIsTheFastest) {
  Pattern pattern;
  for (Rank rank = 0; rank < 32; ++rank)
    pattern.push_back(allgather_pattern(neighborhood("rsg:density=0.05,seed=1", rank, 32), 1 << 20));
  const Parameters parameters = Parameters::read("mi250-ib");
  for (const Rank few : {0, 32})
    EXPECT_EQ(proven_choice(pattern, "mi250-ib", parameters, few), "leader_scatter") << few;
}

/// What ranks hand on inside nodes is predicted as plans have it, over both levels.
TEST(LeaderScatter, WhatIsHandedOnIsPredictedAsPlansHaveIt) {
  constexpr double beta = 1e-9;
  Parameters parameters;
  parameters.links[static_cast<std::size_t>(LinkClass::node)].protocols = {{"eager", -1, 0, beta}};
  for (const char* node : {"mi250-ib", "frontier-like"})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(std::string(node) + ", seed " + std::to_string(seed));
      cases::Random random(seed);
      Pattern pattern(24);
      for (Rank a = 0; a < 24; ++a)
        for (Rank b = 0; b < 24; ++b) {
          if (a / 8 == b / 8 || !random.chance(static_cast<int>(seed) * 10 + 5)) continue;
          pattern[static_cast<std::size_t>(a)].out.push_back({b, {{0, 2400}}});
          pattern[static_cast<std::size_t>(b)].in.push_back({a, {{a * 2400, 2400}}});
        }
      const VirtualSetup setup = chosen_between_nodes(pattern, node, parameters, 0);
      const auto at = std::ranges::find(setup.strategies, "leader_scatter", &StrategyRow::name);
      ASSERT_NE(at, setup.strategies.end());
      const Prediction& own = setup.selection.predictions[static_cast<std::size_t>(at - setup.strategies.begin())];
      const VirtualSetup alone =
          plan_virtual_ranks(pattern, cases::described(node, 24), choose_levels("leader_scatter"));
      std::array<std::array<std::int64_t, 2>, 24> inside{};
      for (const Plan& plan : alone.plans)
        for (const Step& step : plan.steps)
          if (step.kind == StepKind::send && step.peer / 8 == plan.rank / 8) {
            inside[static_cast<std::size_t>(plan.rank)][0] += step.span.bytes;
            inside[static_cast<std::size_t>(step.peer)][1] += step.span.bytes;
          }
      std::int64_t most = 0;
      for (const auto& [sent, received] : inside) most = std::max({most, sent, received});
      EXPECT_GT(most, 0);
      EXPECT_NEAR(own.part(Stage::scatter), beta * static_cast<double>(most), 1e-12);
      EXPECT_EQ(own.part(Stage::gather), 0);
    }
}

/// All ranks to all on two nodes of each kind: proven, and each value enters a node once.
TEST(LeaderScatter, AllToAll) {
  for (const char* node : {"mi250-ib", "frontier-like"}) {
    Pattern pattern(16);
    for (Rank r = 0; r < 16; ++r)
      for (Rank peer = 0; peer < 16; ++peer) {
        pattern[static_cast<std::size_t>(r)].out.push_back({peer, {{0, 200}}});
        pattern[static_cast<std::size_t>(r)].in.push_back({peer, {{peer * 200, 200}}});
      }
    const Machine machine = cases::described(node, 16);
    StrategySettings settings;
    settings.fabric = Fabric::of(machine);
    const auto strategy = make_strategy("leader_scatter", settings);
    const auto direct = make_strategy("direct");
    const std::vector<const Strategy*> inner = {direct.get()};
    const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *strategy, {}, inner);
    const Report report = verify(setup.plans, pattern);
    EXPECT_TRUE(report.ok) << to_string(report);
    std::vector<Rank> node_of;
    for (Rank r = 0; r < 16; ++r) node_of.push_back(r / 8);
    EXPECT_TRUE(crosses_once(setup.plans, pattern, node_of).report.ok);
  }
}

/// A Moore neighborhood of radius 1 on a periodic 5 x 5 grid: 4 messages a rank instead of 8, on 5 x 5 x 5 6 instead of
/// 26.
TEST(CartesianCombining, TwoMessagesForEachDimension) {
  for (const int dimensions : {2, 3}) {
    const Rank ranks = dimensions == 2 ? 25 : 125;
    Pattern pattern(static_cast<std::size_t>(ranks));
    const auto coordinate = [](Rank rank, int d) { return d == 0 ? rank % 5 : d == 1 ? rank / 5 % 5 : rank / 25; };
    for (Rank a = 0; a < ranks; ++a)
      for (Rank b = 0; b < ranks; ++b) {
        bool near = a != b;
        for (int d = 0; d < dimensions; ++d) {
          const int distance = (coordinate(a, d) - coordinate(b, d) + 5) % 5;
          near = near && (distance <= 1 || distance == 4);
        }
        if (!near) continue;
        pattern[static_cast<std::size_t>(a)].out.push_back({b, {{0, 8}}});
        pattern[static_cast<std::size_t>(b)].in.push_back({a, {{a * 8, 8}}});
      }
    const auto strategy = make_strategy("cartesian_combining");
    const auto direct = make_strategy("direct");
    const std::vector<const Strategy*> inner = dimensions == 2
                                                   ? std::vector<const Strategy*>{direct.get()}
                                                   : std::vector<const Strategy*>{strategy.get(), direct.get()};
    const Machine grid = Machine::parse(dimensions == 2 ? "y:5 x:5" : "z:5 y:5 x:5", ranks);
    const VirtualSetup setup = plan_virtual_ranks(pattern, grid, *strategy, {}, inner);
    const Report report = verify(setup.plans, pattern);
    EXPECT_TRUE(report.ok) << to_string(report);
    for (const Plan& plan : setup.plans) {
      int sends = 0;
      for (const Step& step : plan.steps) sends += step.kind == StepKind::send;
      EXPECT_EQ(sends, 2 * dimensions);
    }
  }
}

}  // namespace
}  // namespace laneway
