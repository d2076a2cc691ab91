#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "base/error.hpp"
#include "cases.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

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

std::set<Rank> destinations_of(const Traffic& traffic, Rank source) {
  std::set<Rank> destinations;
  for (const CrossEdge& edge : traffic.edges)
    if (edge.source == source) destinations.insert(edge.destination);
  return destinations;
}

/// What every strategy owes: each byte of each block is in exactly one lane for each destination, and both ends of a
/// lane are members.
TEST(Strategies, LanesCoverEveryBlockOnce) {
  for (std::uint64_t seed = 0; seed < cases::effort(200); ++seed) {
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
        std::map<std::tuple<Rank, Rank, Rank>, std::vector<Range>> cover;  // region, source, destination
        for (const Lane& lane : setup.itineraries[r].out_lanes) {
          ASSERT_TRUE(is_member(lane.sender)) << candidate.name;
          ASSERT_EQ(c.region_of[static_cast<std::size_t>(lane.receiver)], lane.to_region);
          const auto traffic = std::ranges::find(view.out, lane.to_region, &Traffic::region);
          ASSERT_NE(traffic, view.out.end());
          for (const Piece& piece : lane.pieces)
            for (Rank destination : destinations_of(*traffic, piece.source))
              if (lane.carries_for(destination))
                cover[{lane.to_region, piece.source, destination}].push_back({piece.begin, piece.bytes()});
        }
        std::size_t blocks = 0;
        for (const Traffic& traffic : view.out)
          for (const SourceBytes& source : traffic.sources)
            for (Rank destination : destinations_of(traffic, source.rank)) {
              ++blocks;
              const std::vector<Range>& pieces = cover[{traffic.region, source.rank, destination}];
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
  const auto strategy = make_strategy("three_step");
  EXPECT_TRUE(strategy->relays());
  const std::vector<Lane> in = strategy->assign_receivers(view);
  ASSERT_EQ(in.size(), 3U);
  EXPECT_EQ(in[0], (Lane{2, 0, -1, 1, {{2, 0, 150}}}));
  EXPECT_EQ(in[1], (Lane{4, 0, -1, 0, {{4, 0, 120}}}));
  EXPECT_EQ(in[2], (Lane{6, 0, -1, 0, {{6, 0, 40}}}));
  std::vector<Lane> out = {
      {0, 2, -1, 2, {{0, 0, 100}, {1, 0, 50}}}, {0, 4, -1, 4, {{1, 0, 120}}}, {0, 6, -1, 6, {{0, 0, 40}}}};
  strategy->assign_senders(view, in, out);
  EXPECT_EQ(out[0].sender, 0);
  EXPECT_EQ(out[1].sender, 1);
  EXPECT_EQ(out[2].sender, 1);
}

/// Example 2.1 of Gerald Collom, Ruipeng Li, Amanda Bienz: four ranks of region 0, each with two values (8 bytes
/// each), and four of region 1; 15 messages if each edge is sent by itself. The text spells out two ranks: 0 sends the
/// circle to 5 and 6 and the square to 4, 5 and 7; 2 sends both to 4, the square to 5 and 6, the circle to 7. What 1
/// and 3 send is in its picture alone.
TEST(ThreeStep, FifteenMessagesBecomeOne) {
  constexpr int circle = 1;
  constexpr int square = 2;
  const std::vector<std::vector<std::pair<Rank, int>>> needs = {
      {{4, square}, {5, circle | square}, {6, circle}, {7, square}},
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

  const std::vector<Plan> direct = plan_virtual_ranks(pattern, machine, *make_strategy("direct")).plans;
  EXPECT_EQ(network_messages(direct), 15);
  EXPECT_EQ(crosses_once(direct, pattern, region_of).bytes, edge_bytes);

  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *make_strategy("three_step"));
  EXPECT_TRUE(verify(setup.plans, pattern).ok);
  EXPECT_EQ(network_messages(setup.plans), 1);
  const Crossing crossing = crosses_once(setup.plans, pattern, region_of);
  EXPECT_TRUE(crossing.report.ok) << to_string(crossing.report);
  EXPECT_EQ(crossing.bytes, 64);  // both values of each of the four ranks
  ASSERT_EQ(setup.itineraries[0].out_lanes.size(), 1U);
  // All four sources hold 16 bytes, and ranks 4, 5 and 7 each need 40: the last that sends, and the first that
  // receives, take the lane.
  EXPECT_EQ(setup.itineraries[0].out_lanes[0], (Lane{0, 4, 3, 4, {{0, 0, 16}, {1, 0, 16}, {2, 0, 16}, {3, 0, 16}}}));

  PlanOptions options;
  options.deduplicate = false;
  const std::vector<Plan> repeated = plan_virtual_ranks(pattern, machine, *make_strategy("three_step"), options).plans;
  EXPECT_EQ(network_messages(repeated), 1);
  EXPECT_EQ(crosses_once(repeated, pattern, region_of).bytes, edge_bytes);
}

std::vector<Rank> receivers(const std::vector<Lane>& lanes) {
  std::vector<Rank> result;
  for (const Lane& lane : lanes) result.push_back(lane.receiver);
  return result;
}

std::vector<Rank> senders(const std::vector<Lane>& lanes) {
  std::vector<Rank> result;
  for (const Lane& lane : lanes) result.push_back(lane.sender);
  return result;
}

/// Region 10 has three members. All five ranks of region 0 send: 0, 1, 2 to the members in turn, then 3 and 4 to 10 and
/// 11. Of region 5 rank 7 alone sends: to 12, which has fewest. Of region 20 ranks 20 and 22 send: to 10 and 11.
TEST(TwoStep, PairsEverySourceAndBalancesLanes) {
  RegionView view;
  view.region = {10, {10, 11, 12}};
  view.in = {{0, {{0, 8}, {1, 8}, {2, 8}, {3, 8}, {4, 900}}, {{0, 10, 908}, {1, 10, 8}, {2, 10, 8}, {3, 10, 8}}},
             {5, {{7, 24}}, {{7, 10, 24}}},
             {20, {{20, 8}, {22, 16}}, {{20, 12, 8}, {22, 12, 16}}}};
  const auto strategy = make_strategy("two_step");
  std::vector<Lane> lanes = strategy->assign_receivers(view);
  EXPECT_EQ(receivers(lanes), (std::vector<Rank>{10, 11, 12, 10, 11, 12, 10, 11}));
  EXPECT_EQ(lanes[5], (Lane{5, 10, -1, 12, {{7, 0, 24}}}));
  strategy->assign_senders({}, {}, lanes);
  EXPECT_EQ(senders(lanes), (std::vector<Rank>{0, 1, 2, 3, 4, 7, 20, 22}));
}

/// Four ranks each have data for the four of the other region: the pairing of the paper's figure 2.4, whatever came
/// before.
TEST(TwoStep, EqualRegionsArePairedByIndex) {
  RegionView view;
  view.region = {4, {4, 5, 6, 7}};
  view.in = {{0, {{0, 8}, {1, 8}, {2, 8}, {3, 8}}, {{0, 4, 8}, {1, 4, 8}, {2, 4, 8}, {3, 4, 8}}},
             {8, {{9, 8}, {10, 8}}, {{9, 4, 8}, {10, 4, 8}}},
             {12, {{12, 8}, {13, 8}, {14, 8}, {15, 8}}, {{12, 4, 8}, {13, 4, 8}, {14, 4, 8}, {15, 4, 8}}}};
  EXPECT_EQ(receivers(make_strategy("two_step")->assign_receivers(view)),
            (std::vector<Rank>{4, 5, 6, 7, 4, 6, 4, 5, 6, 7}));
}

/// Ranks 4 and 5 send 60 bytes to region 0, rank 8 sends 16.
RegionView split_view(std::vector<Rank> members) {
  RegionView view;
  view.region = {0, std::move(members)};
  view.in = {{4, {{4, 40}, {5, 20}}, {{4, 0, 40}, {5, 0, 20}}}, {8, {{8, 16}}, {{8, 0, 16}}}};
  return view;
}

/// 76 bytes are 4 messages of up to 24, for 4 ranks: 24, 24, 12 from region 4 and 16 from region 8. Descending, they go
/// to ranks 0, 1, 3, 2, of which only rank 0 needs anything.
TEST(Split, CutsAtTheCapAndReceivesInDescendingOrder) {
  const std::vector<Lane> expected = {{4, 0, -1, 0, {{4, 0, 24}}},
                                      {4, 0, -1, 1, {{4, 24, 40}, {5, 0, 8}}},
                                      {4, 0, -1, 3, {{5, 8, 20}}},
                                      {8, 0, -1, 2, {{8, 0, 16}}}};
  EXPECT_EQ(make_strategy("split", {24})->assign_receivers(split_view({0, 1, 2, 3})), expected);
  // Rounded up to 24.
  EXPECT_EQ(make_strategy("split", {17})->assign_receivers(split_view({0, 1, 2, 3})), expected);
}

TEST(Split, RaisesTheCapToOneShareForEachRank) {
  // 76 / 8 messages are more than 4, and 2 regions are fewer: ceil(76 / 4) = 19, which is rounded up to 24.
  EXPECT_EQ(make_strategy("split", {8})->assign_receivers(split_view({0, 1, 2, 3})),
            make_strategy("split", {24})->assign_receivers(split_view({0, 1, 2, 3})));
  // As many regions as ranks: the cap stays.
  const std::vector<Lane> lanes = make_strategy("split", {8})->assign_receivers(split_view({0, 1}));
  EXPECT_EQ(lanes.size(), 10U);
  for (const Lane& lane : lanes) EXPECT_LE(lane.bytes(), 8);
}

TEST(Split, ConglomeratesWhatIsSmall) {
  const std::vector<Lane> expected = {{4, 0, -1, 0, {{4, 0, 40}, {5, 0, 20}}}, {8, 0, -1, 1, {{8, 0, 16}}}};
  EXPECT_EQ(make_strategy("split", {61})->assign_receivers(split_view({0, 1, 2, 3})), expected);
  EXPECT_EQ(make_strategy("split")->assign_receivers(split_view({0, 1, 2, 3})), expected);
}

/// 21 bytes leave 3 of the cap of 24: too few for a cut at a multiple of 8.
TEST(Split, CutsAtMultiplesOfEightBytesOfABlock) {
  RegionView view;
  view.region = {0, {0, 1, 2, 3}};
  view.in = {{4, {{4, 21}, {5, 30}}, {{4, 0, 21}, {5, 0, 30}}}};
  EXPECT_EQ(
      make_strategy("split", {24})->assign_receivers(view),
      (std::vector<Lane>{{4, 0, -1, 1, {{4, 0, 21}}}, {4, 0, -1, 0, {{5, 0, 24}}}, {4, 0, -1, 2, {{5, 24, 30}}}}));
}

/// The largest lanes go to the last ranks, which have no data of their own.
TEST(Split, SendsFromTheLastRankBackwards) {
  RegionView view;
  view.region = {0, {0, 1, 2}};
  std::vector<Lane> lanes = {{0, 4, -1, 4, {{0, 0, 24}}},
                             {0, 4, -1, 5, {{0, 24, 48}}},
                             {0, 4, -1, 7, {{0, 48, 60}}},
                             {0, 8, -1, 8, {{0, 0, 16}}}};
  make_strategy("split")->assign_senders(view, {}, lanes);
  EXPECT_EQ(senders(lanes), (std::vector<Rank>{2, 1, 2, 0}));
}

/// 120 bytes for three members: quotas of 40. Of the 96 from region 3 rank 1 needs 90 and rank 0 the rest, so they fill
/// their quotas first; what is left of it and the 24 from region 6 go to rank 2, which needs nothing.
TEST(LoadAware, FillsEqualQuotas) {
  RegionView view;
  view.region = {0, {0, 1, 2}};
  view.in = {{3, {{3, 90}, {4, 6}}, {{3, 1, 90}, {4, 0, 6}}}, {6, {{6, 24}}, {{6, 0, 24}}}};
  const auto strategy = make_strategy("load_aware");
  EXPECT_EQ(strategy->assign_receivers(view), (std::vector<Lane>{{3, 0, -1, 1, {{3, 0, 40}}},
                                                                 {3, 0, -1, 0, {{3, 40, 80}}},
                                                                 {3, 0, -1, 2, {{3, 80, 90}, {4, 0, 6}}},
                                                                 {6, 0, -1, 2, {{6, 0, 24}}}}));
  // Sent bytes: rank 3 keeps the first lane, which is its own; then the others are less busy.
  RegionView sending;
  sending.region = {3, {3, 4, 5}};
  std::vector<Lane> lanes = {{3, 0, -1, 0, {{3, 0, 40}}},
                             {3, 0, -1, 1, {{3, 40, 80}}},
                             {3, 0, -1, 2, {{3, 80, 90}, {4, 0, 6}}},
                             {3, 9, -1, 9, {{3, 0, 8}}}};
  strategy->assign_senders(sending, {}, lanes);
  EXPECT_EQ(senders(lanes), (std::vector<Rank>{3, 5, 4, 4}));
}

/// A region of up to eight members that receives from several others, of up to twelve sources each.
RegionView random_view(cases::Random& random) {
  RegionView view;
  view.region.id = 1;
  for (std::int64_t n = random.between(1, 8); n > 0; --n)
    view.region.members.push_back(static_cast<Rank>(view.region.members.size()) + 1);
  for (Rank region = 100; random.chance(80); region += 100) {
    Traffic traffic{region, {}, {}};
    for (std::int64_t n = random.between(1, 12); n > 0; --n) {
      const std::int64_t bytes = random.between(1, 500);
      const auto source = region + static_cast<Rank>(traffic.sources.size());
      traffic.sources.push_back({source, bytes});
      traffic.edges.push_back({source, random.pick(view.region.members), bytes});
    }
    view.in.push_back(std::move(traffic));
  }
  return view;
}

/// Whatever the sizes, no member gets more than its share and a cut, and there are at most as many lanes as links and
/// members.
TEST(LoadAware, BalancesRandomLinks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    cases::Random random(seed);
    const RegionView view = random_view(random);
    const auto members = static_cast<std::int64_t>(view.region.members.size());
    std::int64_t total = 0;
    for (const Traffic& traffic : view.in) total += traffic.bytes();
    std::map<Rank, std::int64_t> load;
    const std::vector<Lane> lanes = make_strategy("load_aware")->assign_receivers(view);
    for (const Lane& lane : lanes) load[lane.receiver] += lane.bytes();
    for (const auto& [member, bytes] : load) EXPECT_LT(bytes, (total + members - 1) / members + 8) << seed;
    EXPECT_LE(lanes.size(), view.in.size() + view.region.members.size()) << seed;
  }
}

/// No member ends two lanes more than another, in all or from one region.
TEST(TwoStep, BalancesRandomLinks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    cases::Random random(seed);
    const RegionView view = random_view(random);
    std::map<Rank, std::map<Rank, int>> count;  // 0: from all regions
    for (const Lane& lane : make_strategy("two_step")->assign_receivers(view)) {
      ++count[lane.from_region][lane.receiver];
      ++count[0][lane.receiver];
    }
    for (auto& [region, of] : count) {
      int least = of[view.region.members.front()];
      int most = least;
      for (Rank member : view.region.members) {
        least = std::min(least, of[member]);
        most = std::max(most, of[member]);
      }
      EXPECT_LE(most - least, 1) << seed;
    }
  }
}

/// Ranks 0 and 1 have destination 5 in common, rank 0 with two edges. Rank 0 already sends to 4, so rank 1 combines.
TEST(CommonNeighborhood, OneMessageForEachDestination) {
  const auto strategy = make_strategy("common_neighborhood");
  EXPECT_FALSE(strategy->deduplicates());
  RegionView view;
  view.region = {4, {4, 5, 6}};
  view.in = {{0, {{0, 28}, {1, 8}, {2, 24}}, {{0, 4, 8}, {0, 5, 4}, {0, 5, 16}, {1, 5, 8}, {2, 6, 24}}}};
  std::vector<Lane> lanes = strategy->assign_receivers(view);
  EXPECT_EQ(lanes,
            (std::vector<Lane>{
                {0, 4, -1, 4, {{0, 0, 8}}}, {0, 4, -1, 5, {{0, 8, 28}, {1, 0, 8}}}, {0, 4, -1, 6, {{2, 0, 24}}}}));
  strategy->assign_senders({}, {}, lanes);
  EXPECT_EQ(senders(lanes), (std::vector<Rank>{0, 1, 2}));
}

/// Groups of three, as even as can be: of region 0's four sources 0 and 1, 2 and 3. The lane for one rank is received
/// by it, the other by the rank that then has less to hand on; rank 30 sends alone.
TEST(Grouped, SmallGroupsAreReceivedWhereTheyAreNeeded) {
  const auto strategy = make_strategy("grouped");
  RegionView view;
  view.region = {10, {10, 11, 12}};
  view.in = {{0, {{0, 8}, {1, 64}, {2, 8}, {3, 24}}, {{0, 12, 8}, {1, 12, 64}, {2, 11, 8}, {2, 12, 8}, {3, 11, 24}}},
             {30, {{30, 8}}, {{30, 10, 8}}}};
  std::vector<Lane> lanes = strategy->assign_receivers(view);
  EXPECT_EQ(lanes, (std::vector<Lane>{{0, 10, -1, 12, {{0, 0, 8}, {1, 0, 64}}},
                                      {0, 10, -1, 11, {{2, 0, 8}, {3, 0, 24}}},
                                      {30, 10, -1, 10, {{30, 0, 8}}}}));
  strategy->assign_senders({}, {}, lanes);
  EXPECT_EQ(senders(lanes), (std::vector<Rank>{1, 3, 30}));
}

/// Every rank of region 0 sends 8 bytes to ranks 4 and 5: two messages instead of eight, which deliver without a hop
/// in the other region, in spite of edges in descending order and an empty one.
TEST(CommonNeighborhood, CombinesInTheRegionOfTheSources) {
  Pattern pattern(6);
  for (Rank s = 0; s < 4; ++s) {
    RankPattern& p = pattern[static_cast<std::size_t>(s)];
    p.out = {{5, {{0, 8}}}, {4, {}}, {4, {{0, 8}}}};
    pattern[4].in.push_back({s, {}});
    for (Rank d = 4; d < 6; ++d) pattern[static_cast<std::size_t>(d)].in.push_back({s, {{s * 8, 8}}});
  }
  const VirtualSetup setup =
      plan_virtual_ranks(pattern, Machine::parse("ranks:4,2", 6), *make_strategy("common_neighborhood"));
  EXPECT_TRUE(verify(setup.plans, pattern).ok);
  int network = 0;
  for (const Plan& plan : setup.plans)
    for (const Step& step : plan.steps) {
      EXPECT_NE(step.stage, Stage::scatter);
      network += step.kind == StepKind::send && step.stage == Stage::network;
    }
  EXPECT_EQ(network, 2);
}

/// Direct keeps the order of the arguments, message by message of one peer; spread starts after the own rank.
TEST(Spread, StartsWithTheRanksAfterTheOwn) {
  Pattern pattern(5);
  for (Rank d : {0, 3, 1, 4, 0}) {
    pattern[2].out.push_back({d, {{0, 8}}});
    std::vector<Edge>& in = pattern[static_cast<std::size_t>(d)].in;
    in.push_back({2, {{static_cast<std::int64_t>(in.size()) * 8, 8}}});
  }
  const Machine machine = Machine::parse("node:1 rank:5", 5);
  auto peers = [&](const Strategy& strategy) {
    std::vector<Rank> result;
    const VirtualSetup setup = plan_virtual_ranks(pattern, machine, strategy);
    for (const Step& step : setup.plans[2].steps) result.push_back(step.peer);
    return result;
  };
  EXPECT_EQ(peers(*make_strategy("direct")), (std::vector<Rank>{0, 0, 3, 1, 4}));
  EXPECT_EQ(peers(*make_strategy("spread")), (std::vector<Rank>{3, 4, 0, 0, 1}));
}

/// One link of three sources, whose lanes fit one member: it is one that is nearest to a network interface, whatever
/// else speaks for others, and not the receiver if there are two; with more lanes, all members take part.
TEST(EveryStrategy, PrefersMembersNearANetworkInterface) {
  RegionView view;
  view.region = {0, {0, 1, 2, 3}};
  view.inner = {0, 1, 2, 3};
  view.inside.resize(4);
  view.in = {{8, {{8, 100}}, {{8, 0, 100}}}};
  view.out = {{8, {{0, 100}, {3, 30}}, {{0, 8, 100}, {3, 8, 30}}}};
  struct Case {
    std::vector<int> distance;
    Rank receiver, sender;
  };
  for (const auto& [distance, receiver, sender] : {Case{{2, 1, 0, 2}, 2, 2}, {{1, 0, 0, 1}, 1, 2}}) {
    view.distance = distance;
    for (const char* const name : {"three_step", "two_step", "split"}) {
      const auto strategy = make_strategy(name);
      EXPECT_EQ(strategy->assign_receivers(view).front().receiver, receiver) << name;
    }
    std::vector<Lane> lanes = {{0, 8, -1, 8, {{0, 0, 100}, {3, 0, 30}}}};
    const auto three_step = make_strategy("three_step");
    three_step->assign_senders(view, three_step->assign_receivers(view), lanes);
    EXPECT_EQ(lanes.front().sender, sender);
    make_strategy("split")->assign_senders(view, {}, lanes);
    EXPECT_EQ(view.distance_of(static_cast<std::size_t>(lanes.front().sender)), 0);
  }
  view.distance = {2, 1, 0, 2};
  view.in.clear();
  for (Rank other = 8; other < 12; ++other) view.in.push_back({other, {{other, 100}}, {{other, 0, 100}}});
  for (const char* const name : {"three_step", "two_step", "split"}) {
    std::set<Rank> receivers;
    for (const Lane& lane : make_strategy(name)->assign_receivers(view)) receivers.insert(lane.receiver);
    EXPECT_EQ(receivers, (std::set<Rank>{0, 1, 2, 3})) << name;
  }
  view.in = {{8, {{8, 4000}}, {{8, 0, 4000}}}};
  std::vector<Rank> order;
  for (const Lane& lane : make_strategy("load_aware")->assign_receivers(view)) order.push_back(lane.receiver);
  EXPECT_EQ(order, (std::vector<Rank>{0, 2, 1, 3})) << "first who needs it";
}

}  // namespace
}  // namespace laneway
