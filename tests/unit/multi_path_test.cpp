#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cases.hpp"
#include "described.hpp"
#include "machine/fabric.hpp"
#include "machine/parameters.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

void add_edge(Pattern& pattern, Rank source, Rank destination, std::int64_t offset, std::int64_t bytes) {
  pattern[static_cast<std::size_t>(source)].out.push_back({destination, {{offset, bytes}}});
  pattern[static_cast<std::size_t>(destination)].in.push_back({source, {{source * bytes, bytes}}});
}

/// Bytes for each link of the busiest bundle of a node, in one direction, by the proven plans of a strategy.
double busiest_link(const std::string& name, const Pattern& pattern, const Machine& machine) {
  StrategySettings settings;
  settings.fabric = Fabric::of(machine);
  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *make_strategy(name, settings));
  const Report report = verify(setup.plans, pattern);
  EXPECT_TRUE(report.ok) << to_string(report);
  const DeviceLinks& devices = settings.fabric->devices();
  std::vector<std::vector<double>> loads(devices.size(), std::vector<double>(devices.size(), 0));
  for (const Plan& plan : setup.plans)
    for (const Step& step : plan.steps) {
      if (step.kind != StepKind::send || !settings.fabric->joins(plan.rank, step.peer)) continue;
      const std::vector<int>& way = settings.fabric->way(plan.rank, step.peer);
      for (std::size_t i = 1; i < way.size(); ++i) {
        const auto a = static_cast<std::size_t>(way[i - 1]);
        const auto b = static_cast<std::size_t>(way[i]);
        loads[a][b] += static_cast<double>(step.span.bytes) / devices.links[a][b];
      }
    }
  double most = 0;
  for (const std::vector<double>& row : loads) most = std::max(most, *std::max_element(row.begin(), row.end()));
  return most;
}

TEST(Fabric, WaysHaveTheFewestHopsAndAmongTheseTheWidestBundles) {
  const DeviceLinks devices = with_hops({{0, 1, 2, 0}, {1, 0, 0, 4}, {2, 0, 0, 2}, {0, 4, 2, 0}});
  EXPECT_EQ(devices.ways[0][3], (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(devices.ways[1][2], (std::vector<int>{1, 3, 2}));
  EXPECT_EQ(devices.ways[1][1], (std::vector<int>{1}));
}

/// From 0 to 2 there are three ways without common links: over 4, over 6, and over 1 and 3.
TEST(MultiPath, OneMessageTakesAllWays) {
  const Machine machine = cases::described("mi250-ib", 8);
  Pattern pattern(8);
  add_edge(pattern, 0, 2, 0, 3 * mebibyte);
  EXPECT_EQ(busiest_link("direct", pattern, machine), 3 * mebibyte);
  EXPECT_LE(busiest_link("multi_path", pattern, machine), 1.1 * mebibyte);
}

/// A value for all others goes to some of them, each of which hands it on to some of the rest: the links between
/// devices carry less than half of what they do where each is sent to each.
TEST(MultiPath, SeveralHandOnWhatManyNeed) {
  for (const char* node : {"mi250-ib", "frontier-like"}) {
    const Machine machine = cases::described(node, 8);
    Pattern pattern(8);
    for (Rank a = 0; a < 8; ++a)
      for (Rank b = 0; b < 8; ++b)
        if (a != b) add_edge(pattern, a, b, 0, 2 * mebibyte);
    EXPECT_LE(busiest_link("multi_path", pattern, machine), busiest_link("direct", pattern, machine) / 2.5) << node;
    StrategySettings settings;
    settings.fabric = Fabric::of(machine);
    const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *make_strategy("multi_path", settings));
    EXPECT_TRUE(std::ranges::any_of(setup.itineraries[0].out_lanes,
                                    [](const Lane& lane) { return lane.destinations.size() > 1; }));
  }
}

/// On random graphs of several densities, whether ranks send the same to all or different data: the busiest link never
/// carries more than without relays, and on average much less.
TEST(MultiPath, BusiestLinkCarriesLess) {
  for (const char* node : {"mi250-ib", "frontier-like"})
    for (const bool same : {true, false}) {
      double ratios = 0;
      int cases = 0;
      for (const int percent : {10, 40, 80})
        for (std::uint64_t seed = 0; seed < 4; ++seed, ++cases) {
          SCOPED_TRACE(std::string(node) + ", " + std::to_string(percent) + "%, seed " + std::to_string(seed));
          cases::Random random(seed);
          Pattern pattern(8);
          for (Rank a = 0; a < 8; ++a)
            for (Rank b = 0; b < 8; ++b)
              if (a != b && random.chance(percent)) add_edge(pattern, a, b, same ? 0 : b * 2 * mebibyte, 2 * mebibyte);
          const Machine machine = cases::described(node, 8);
          const double direct = busiest_link("direct", pattern, machine);
          const double own = busiest_link("multi_path", pattern, machine);
          EXPECT_LE(own, direct);
          ratios += own / direct;
        }
      EXPECT_LE(ratios / cases, same ? 0.5 : 0.7);
    }
}

VirtualSetup chosen_on_devices(const Pattern& pattern, bool on_devices = true) {
  const Parameters parameters = Parameters::read("mi250-ib");
  return plan_virtual_ranks(pattern, cases::described("mi250-ib", 8), choose_levels("auto"), {}, {}, &parameters, 0,
                            on_devices);
}

std::string chosen_name(const VirtualSetup& setup) {
  return std::string(setup.strategies[setup.selection.chosen]->name);
}

TEST(MultiPath, IsChosenInANodeOfDevicesWhereLinksAreWhatTakesLong) {
  Pattern pattern(8);
  add_edge(pattern, 0, 2, 0, 16 * mebibyte);
  const VirtualSetup large = chosen_on_devices(pattern);
  EXPECT_EQ(chosen_name(large), "multi_path");
  const Report report = verify(large.plans, pattern);
  EXPECT_TRUE(report.ok) << to_string(report);
  EXPECT_EQ(chosen_name(chosen_on_devices(pattern, false)), "direct");
  Pattern small(8);
  add_edge(small, 0, 2, 0, 8);
  const VirtualSetup direct = chosen_on_devices(small);
  EXPECT_EQ(chosen_name(direct), "direct");
  EXPECT_EQ(direct.plans, plan_virtual_ranks(small, cases::described("mi250-ib", 8), *make_strategy("direct")).plans);
}

/// Also where ranks have nothing for each other, or only for themselves.
TEST(MultiPath, LoadsOfLinksArePredictedAsPlansHaveThem) {
  const Machine machine = cases::described("mi250-ib", 8);
  const double beta = Parameters::read("mi250-ib").between_devices().link(LinkClass::socket).protocols.back().beta;
  for (const bool same : {true, false})
    for (const int percent : {0, 10, 40, 80}) {
      SCOPED_TRACE(std::to_string(percent) + "%, " + (same ? "the same" : "different") + " for all");
      cases::Random random(static_cast<std::uint64_t>(percent));
      Pattern pattern(8);
      for (Rank a = 0; a < 8; ++a)
        for (Rank b = 0; b < 8; ++b)
          if (a == b ? percent == 10 : random.chance(percent))
            add_edge(pattern, a, b, same ? 0 : b * 2 * mebibyte, 2 * mebibyte);
      const VirtualSetup setup = chosen_on_devices(pattern);
      const Report report = verify(setup.plans, pattern);
      EXPECT_TRUE(report.ok) << to_string(report);
      ASSERT_EQ(setup.strategies.size(), 2U);
      for (std::size_t c = 0; c < setup.strategies.size(); ++c)
        EXPECT_NEAR(setup.selection.predictions[c].link,
                    beta * busiest_link(std::string(setup.strategies[c]->name), pattern, machine), 1e-9);
    }
}

/// Between nodes, and where nothing is known of links, it is two_step.
TEST(MultiPath, IsTwoStepBetweenNodes) {
  Pattern pattern(16);
  for (Rank a = 0; a < 8; ++a)
    for (Rank b = 8; b < 16; b += 3) add_edge(pattern, a, b, 0, 1000);
  StrategySettings settings;
  const Machine machine = cases::described("mi250-ib", 16);
  settings.fabric = Fabric::of(machine);
  const auto two_step = plan_virtual_ranks(pattern, machine, *make_strategy("two_step"));
  EXPECT_EQ(plan_virtual_ranks(pattern, machine, *make_strategy("multi_path")).plans, two_step.plans);
  EXPECT_EQ(plan_virtual_ranks(pattern, machine, *make_strategy("multi_path", settings)).plans, two_step.plans);
}

}  // namespace
}  // namespace laneway
