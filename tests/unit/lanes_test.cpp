#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cases.hpp"
#include "core/error.hpp"
#include "lanes/strategy.hpp"
#include "setup/virtual_ranks.hpp"
#include "verify/verify.hpp"

namespace laneway {
namespace {

TEST(Strategies, AreFoundByName) {
  EXPECT_EQ(find_strategy("three_step").name, "three_step");
  try {
    (void)find_strategy("four_step");
    FAIL();
  } catch (const Error& error) {
    for (const StrategyRow& row : strategies())
      EXPECT_NE(std::string(error.what()).find(row.name), std::string::npos) << error.what();
  }
  for (const StrategyRow& row : strategies()) {
    EXPECT_FALSE(row.description.empty()) << row.name;
    EXPECT_FALSE(row.citation.empty()) << row.name;
    const std::string name(row.name);
    EXPECT_TRUE(parse_strategy(name).deduplicate);
    EXPECT_FALSE(parse_strategy(name + "_nodedup").deduplicate);
    EXPECT_EQ(parse_strategy(name + "_nodedup").row->name, row.name);
  }
}

/// What every strategy owes: each byte of each block is in exactly one lane, and both ends of a lane are members.
TEST(Strategies, LanesCoverEveryBlockOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      if (!candidate.strategy->relays()) continue;
      PlanOptions options = c.options;
      options.deduplicate = candidate.deduplicate;
      const VirtualSetup setup = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options);
      for (std::size_t r = 0; r < c.pattern.size(); ++r) {
        const RegionView& view = setup.views[r];
        auto is_member = [&](Rank rank) {
          return std::binary_search(view.region.members.begin(), view.region.members.end(), rank);
        };
        std::map<std::pair<Rank, Rank>, std::vector<Range>> cover;  // region, source
        for (const Lane& lane : setup.itineraries[r].out_lanes) {
          ASSERT_TRUE(is_member(lane.sender)) << candidate.name;
          ASSERT_EQ(c.region_of[static_cast<std::size_t>(lane.receiver)], lane.to_region);
          for (const Piece& piece : lane.pieces)
            cover[{lane.to_region, piece.source}].push_back({piece.begin, piece.bytes()});
        }
        std::size_t blocks = 0;
        for (const Link& link : view.out)
          for (const SourceBytes& source : link.sources) {
            ++blocks;
            const std::vector<Range>& pieces = cover[{link.region, source.rank}];
            std::int64_t bytes = 0;
            for (Range piece : pieces) bytes += piece.bytes;
            ASSERT_EQ(bytes, source.bytes) << candidate.name << ", seed " << seed;
            ASSERT_EQ(RangeSet(pieces), (RangeSet{{0, source.bytes}})) << candidate.name << ", seed " << seed;
          }
        ASSERT_EQ(blocks, cover.size());
      }
    }
  }
}

/// Region 0 = {0, 1} sends 150 bytes to region 2, 120 to region 4 and 40 to region 6, and receives the same. Largest
/// first, each to the less busy member: 150 to rank 0, which has most of it itself; 120 to rank 1; 40 to rank 1.
TEST(ThreeStep, BalancesLinksOverTheRegion) {
  RegionView view;
  view.region = {0, {0, 1}};
  view.out = {{2, {{0, 100}, {1, 50}}, {{0, 2, 100}, {1, 2, 50}}},
              {4, {{1, 120}}, {{1, 4, 120}}},
              {6, {{0, 40}}, {{0, 6, 40}}}};
  view.in = {{2, {{2, 150}}, {{2, 0, 10}, {2, 1, 150}}}, {4, {{4, 120}}, {{4, 1, 120}}}, {6, {{6, 40}}, {{6, 0, 40}}}};
  const auto strategy = make_three_step();
  EXPECT_TRUE(strategy->relays());
  const std::vector<Lane> in = strategy->assign_receivers(view);
  ASSERT_EQ(in.size(), 3U);
  EXPECT_EQ(in[0], (Lane{2, 0, -1, 1, {{2, 0, 150}}}));
  EXPECT_EQ(in[1], (Lane{4, 0, -1, 0, {{4, 0, 120}}}));
  EXPECT_EQ(in[2], (Lane{6, 0, -1, 0, {{6, 0, 40}}}));
  std::vector<Lane> out = {
      {0, 2, -1, 2, {{0, 0, 100}, {1, 0, 50}}}, {0, 4, -1, 4, {{1, 0, 120}}}, {0, 6, -1, 6, {{0, 0, 40}}}};
  strategy->assign_senders(view, out);
  EXPECT_EQ(out[0].sender, 0);
  EXPECT_EQ(out[1].sender, 1);
  EXPECT_EQ(out[2].sender, 1);
}

/// After Example 2.1 of Collom, Li, Bienz: four ranks of region 0, each with two values (8 bytes each), and four of
/// region 1; 15 messages if each edge is sent by itself. Rank 2 is the one that the paper spells out: both values to
/// rank 4, the square to 5 and 6, the circle to 7.
TEST(ThreeStep, FifteenMessagesBecomeOne) {
  constexpr int circle = 1;
  constexpr int square = 2;
  const std::vector<std::vector<std::pair<Rank, int>>> needs = {
      {{4, circle}, {5, circle | square}, {6, square}, {7, circle}},
      {{4, square}, {5, circle}, {7, circle | square}},
      {{4, circle | square}, {5, square}, {6, square}, {7, circle}},
      {{4, circle}, {5, circle}, {6, circle | square}, {7, square}},
  };
  Pattern pattern(8);
  std::int64_t edges = 0;
  std::int64_t edge_bytes = 0;
  std::vector<std::int64_t> at(8, 0);
  for (std::size_t s = 0; s < needs.size(); ++s)
    for (const auto& [destination, values] : needs[s]) {
      RangeList ranges;
      if (values & circle) ranges.append(Range{0, 8});
      if (values & square) ranges.append(Range{8, 8});
      std::int64_t& place = at[static_cast<std::size_t>(destination)];
      pattern[static_cast<std::size_t>(destination)].in.push_back({static_cast<Rank>(s), {{place, ranges.bytes()}}});
      place += ranges.bytes();
      ++edges;
      edge_bytes += ranges.bytes();
      pattern[s].out.push_back({destination, std::move(ranges)});
    }
  ASSERT_EQ(edges, 15);
  ASSERT_EQ(edge_bytes, 19 * 8);
  const Machine machine = Machine::parse("node:2 rank:4", 8);
  const std::vector<Rank> region_of = {0, 0, 0, 0, 4, 4, 4, 4};
  auto network_messages = [](const std::vector<Plan>& plans) {
    std::ptrdiff_t n = 0;
    for (const Plan& plan : plans)
      for (const Step& step : plan.steps) n += step.kind == StepKind::send && (plan.rank < 4) != (step.peer < 4);
    return n;
  };

  const std::vector<Plan> direct = plan_virtual_ranks(pattern, machine, *make_direct()).plans;
  EXPECT_EQ(network_messages(direct), 15);
  EXPECT_EQ(crosses_once(direct, pattern, region_of).bytes, edge_bytes);

  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *make_three_step());
  EXPECT_TRUE(verify(setup.plans, pattern).ok);
  EXPECT_EQ(network_messages(setup.plans), 1);
  const Crossing crossing = crosses_once(setup.plans, pattern, region_of);
  EXPECT_TRUE(crossing.report.ok) << to_string(crossing.report);
  EXPECT_EQ(crossing.bytes, 64);  // both values of each of the four ranks
  ASSERT_EQ(setup.itineraries[0].out_lanes.size(), 1U);
  // All four sources hold 16 bytes, and ranks 4, 5 and 7 each need 40: the first of each side takes the lane.
  EXPECT_EQ(setup.itineraries[0].out_lanes[0], (Lane{0, 4, 0, 4, {{0, 0, 16}, {1, 0, 16}, {2, 0, 16}, {3, 0, 16}}}));

  PlanOptions options;
  options.deduplicate = false;
  const std::vector<Plan> repeated = plan_virtual_ranks(pattern, machine, *make_three_step(), options).plans;
  EXPECT_EQ(network_messages(repeated), 1);
  EXPECT_EQ(crosses_once(repeated, pattern, region_of).bytes, edge_bytes);
}

}  // namespace
}  // namespace laneway
