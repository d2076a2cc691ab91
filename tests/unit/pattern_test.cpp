#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "cases.hpp"
#include "offline/grid.hpp"
#include "offline/random_graphs.hpp"
#include "offline/spec.hpp"
#include "plan/pattern.hpp"

namespace laneway {
namespace {

using cases::error_of;

TEST(Placements, KeepTheLastByteOfTheLastEdge) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    cases::Random random(seed);
    std::vector<Edge> in;
    for (std::int64_t n = random.between(0, 6); n > 0; --n)
      in.push_back({0, random.chance(20) ? RangeList{}
                                         : cases::random_ranges(random, random.between(1, 15), random.between(1, 4))});
    std::map<std::int64_t, std::pair<std::size_t, std::int64_t>> expected;  // place -> edge, position
    for (std::size_t e = 0; e < in.size(); ++e) {
      std::int64_t position = 0;
      in[e].ranges.for_each([&](Range range) {
        for (std::int64_t i = 0; i < range.bytes; ++i) expected[range.offset + i] = {e, position++};
      });
    }
    std::map<std::int64_t, std::pair<std::size_t, std::int64_t>> actual;
    const std::vector<Landing> placed = landings(in);
    ASSERT_EQ(placed.size(), in.size());
    for (std::size_t e = 0; e < placed.size(); ++e) {
      ASSERT_EQ(placed[e].stream.bytes(), placed[e].place.bytes());
      std::vector<std::int64_t> positions;
      placed[e].stream.for_each([&](Range range) {
        for (std::int64_t i = 0; i < range.bytes; ++i) positions.push_back(range.offset + i);
      });
      ASSERT_TRUE(std::is_sorted(positions.begin(), positions.end()));
      std::size_t next = 0;
      placed[e].place.for_each([&](Range range) {
        for (std::int64_t i = 0; i < range.bytes; ++i)
          ASSERT_TRUE(actual.emplace(range.offset + i, std::pair(e, positions[next++])).second) << "seed " << seed;
      });
    }
    ASSERT_EQ(actual, expected) << "seed " << seed;
  }
}

TEST(Pattern, OrdinalsCountEdgesWithBytes) {
  const std::vector<Edge> edges = {{1, {{0, 4}}}, {2, {{0, 4}}}, {1, {}}, {1, {{8, 4}}}};
  EXPECT_EQ(ordinals(edges), (std::vector<int>{0, 0, -1, 1}));
}

TEST(Pattern, TheFirstEdgeThatDisagreesIsNamed) {
  Pattern pattern(3);
  pattern[0].out = {{2, {{0, 8}}}, {2, {{0, 4}}}};
  pattern[2].in = {{0, {{0, 8}}}, {0, {{8, 4}}}};
  check_matched(pattern);
  pattern[2].in[1].ranges = {{8, 5}};
  EXPECT_EQ(error_of([&] { check_matched(pattern); }),
            "edge 0 -> 2: the source sends 4 bytes, the destination expects 5");
  pattern[2].in.pop_back();
  EXPECT_EQ(error_of([&] { check_matched(pattern); }),
            "edge 0 -> 2: named 2 times by the source, 1 times by the destination");
}

std::vector<Neighborhood> graph(const std::string& spec, Rank ranks) {
  std::vector<Neighborhood> result;
  for (Rank r = 0; r < ranks; ++r) result.push_back(neighborhood(spec, r, ranks));
  return result;
}

/// Each rank works out its own neighbours; together they must describe one graph.
void expect_consistent(const std::vector<Neighborhood>& all, const std::string& what) {
  std::set<std::pair<Rank, Rank>> told_by_sources;
  std::set<std::pair<Rank, Rank>> told_by_destinations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    for (Rank d : all[i].destinations) EXPECT_TRUE(told_by_sources.emplace(rank, d).second) << what;
    for (Rank s : all[i].sources) EXPECT_TRUE(told_by_destinations.emplace(s, rank).second) << what;
    EXPECT_FALSE(told_by_sources.contains({rank, rank})) << what;
  }
  EXPECT_EQ(told_by_sources, told_by_destinations) << what;
}

TEST(Graph, BothSidesAgree) {
  for (Rank ranks : {1, 2, 3, 12, 30})
    for (const std::string spec :
         {"rsg:density=0.3,seed=5", "rsg:density=1", "rsg:density=0", "moore:d=2,r=1", "moore:d=3,r=2",
          "moore:d=1,r=3,periodic=0", "stencil:points=5", "stencil:points=9,periodic=1", "stencil:points=7",
          "stencil:points=27", "local:d=2,r=3,degree=20", "local:d=3,r=1,degree=9,periodic=1"})
      expect_consistent(graph(spec, ranks), spec + " on " + std::to_string(ranks));
}

TEST(Graph, RandomSparseHasItsDensityAndDependsOnTheSeed) {
  const auto all = graph("rsg:density=0.3,seed=1", 200);
  std::size_t edges = 0;
  for (const Neighborhood& n : all) edges += n.destinations.size();
  EXPECT_NEAR(static_cast<double>(edges) / (200.0 * 199.0), 0.3, 0.01);
  EXPECT_EQ(all, graph("rsg:density=0.3,seed=1", 200));
  EXPECT_NE(all, graph("rsg:density=0.3,seed=2", 200));
  EXPECT_EQ(neighborhood("rsg:density=1", 3, 5).destinations, (std::vector<Rank>{0, 1, 2, 4}));
}

TEST(Graph, LocalHasItsDegreeAmongNearRanksAndDependsOnTheSeed) {
  const auto all = graph("local:d=2,r=3,degree=20,dims=20x20,periodic=1", 400);
  std::size_t edges = 0;
  for (const Neighborhood& n : all) edges += n.destinations.size();
  EXPECT_NEAR(static_cast<double>(edges) / 400, 20, 0.5);
  const std::vector<Rank> near = neighborhood("moore:d=2,r=3,dims=20x20", 210, 400).sources;
  EXPECT_TRUE(std::includes(near.begin(), near.end(), all[210].sources.begin(), all[210].sources.end()));
  EXPECT_NE(all, graph("local:d=2,r=3,degree=20,dims=20x20,periodic=1,seed=2", 400));
  EXPECT_EQ(neighborhood("local:d=2,r=1,degree=8,dims=3x3", 4, 9), neighborhood("moore:d=2,r=1,dims=3x3", 4, 9));
}

TEST(Graph, MooreNeighborhoodsHaveTheirSize) {
  EXPECT_EQ(neighborhood("moore:d=2,r=1,dims=5x5", 12, 25).sources, (std::vector<Rank>{6, 7, 8, 11, 13, 16, 17, 18}));
  EXPECT_EQ(neighborhood("moore:d=2,r=2,dims=8x8", 0, 64).sources.size(), 24U);
  EXPECT_EQ(neighborhood("moore:d=3,r=1,dims=4x4x4", 0, 64).sources.size(), 26U);
  EXPECT_EQ(neighborhood("moore:d=2,r=1,dims=3x3,periodic=0", 0, 9).sources, (std::vector<Rank>{1, 3, 4}));
  EXPECT_EQ(neighborhood("moore:d=1,r=4,dims=3", 0, 3).sources, (std::vector<Rank>{1, 2}));  // wraps onto itself
}

/// Edges of all ranks: (source, destination), as often as there are messages.
using RankPairs = std::multiset<std::pair<Rank, Rank>>;

RankPairs edges_of(const std::string& spec, Rank ranks) {
  RankPairs told_by_sources, told_by_destinations;
  const auto all = graph(spec, ranks);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (Rank d : all[i].destinations) told_by_sources.emplace(static_cast<Rank>(i), d);
    for (Rank s : all[i].sources) told_by_destinations.emplace(s, static_cast<Rank>(i));
  }
  EXPECT_EQ(told_by_sources, told_by_destinations) << spec;
  return told_by_sources;
}

TEST(Graph, MessagesOfNodesAreEven) {
  for (const auto& [to, messages] : {std::pair<Rank, int>{4, 32}, {4, 256}, {16, 32}, {16, 256}})
    for (const bool single : {false, true}) {
      const Rank nodes = to + 1;
      const std::string spec = "nodes:size=4,to=" + std::to_string(to) + ",messages=" + std::to_string(messages) +
                               ",single=" + std::to_string(single);
      std::map<Rank, int> sent, received;
      std::map<std::pair<Rank, Rank>, int> between;
      std::map<std::pair<Rank, Rank>, std::set<Rank>> senders;
      for (const auto& [source, destination] : edges_of(spec, 4 * nodes)) {
        ++sent[source];
        ++received[destination];
        ++between[{source / 4, destination / 4}];
        senders[{source / 4, destination / 4}].insert(source);
      }
      for (Rank rank = 0; rank < 4 * nodes; ++rank) {
        EXPECT_EQ(sent[rank], messages / 4) << spec;
        EXPECT_EQ(received[rank], messages / 4) << spec;
      }
      EXPECT_EQ(between.size(), static_cast<std::size_t>(nodes * to)) << spec;
      for (const auto& [pair, count] : between) {
        EXPECT_NE(pair.first, pair.second) << spec;
        EXPECT_EQ(count, messages / to) << spec;
        EXPECT_EQ(senders[pair].size(), single ? 1U : static_cast<std::size_t>(std::min(4, count))) << spec;
      }
    }
  // Sixteen messages between two nodes of four are one for each pair.
  const RankPairs complete = edges_of("nodes:size=4,to=1,messages=16", 8);
  EXPECT_EQ(std::set(complete.begin(), complete.end()).size(), 32U);
}

TEST(Graph, StencilsEndAtTheBoundary) {
  EXPECT_EQ(neighborhood("stencil:points=5,dims=3x3", 4, 9).sources, (std::vector<Rank>{1, 3, 5, 7}));
  EXPECT_EQ(neighborhood("stencil:points=5,dims=3x3", 0, 9).sources, (std::vector<Rank>{1, 3}));
  EXPECT_EQ(neighborhood("stencil:points=9,dims=3x3", 4, 9).sources.size(), 8U);
  EXPECT_EQ(neighborhood("stencil:points=7,dims=3x3x3", 13, 27).sources, (std::vector<Rank>{4, 10, 12, 14, 16, 22}));
  EXPECT_EQ(neighborhood("stencil:points=27,dims=3x3x3", 13, 27).sources.size(), 26U);
  EXPECT_EQ(neighborhood("stencil:points=27,dims=3x3x3", 0, 27).sources.size(), 7U);
}

TEST(Graph, ErrorsSayWhatIsValid) {
  auto error = [](const char* spec, Rank ranks) { return error_of([&] { (void)neighborhood(spec, 0, ranks); }); };
  EXPECT_EQ(error("ring", 4), "unknown graph 'ring'; valid are rsg, local, moore, stencil, nodes");
  EXPECT_EQ(error("rsg:degree=3", 4), "rsg: unknown parameter 'degree'; valid are density, seed");
  EXPECT_EQ(error("rsg:density=1.5", 4), "rsg: density must be between 0 and 1");
  EXPECT_EQ(error("local:d=2,r=1,degree=9", 4), "local: degree must be between 0 and (2r + 1)^d - 1, which is 8");
  EXPECT_EQ(error("rsg:density=x", 4), "rsg: parameter density=x is not a number");
  EXPECT_EQ(error("rsg:density", 4), "'rsg:density': expected key=value, found 'density'");
  EXPECT_EQ(error("rsg:seed=1,seed=2", 4), "'rsg:seed=1,seed=2': parameter 'seed' given twice");
  EXPECT_EQ(error(":seed=1", 4), "':seed=1': no name before the parameters");
  EXPECT_EQ(error("nodes:size=4", 10), "nodes: size is 4, which does not divide the 10 ranks");
  EXPECT_EQ(error("nodes:size=5,to=2", 10), "nodes: to is 2, there are 1 other nodes");
  EXPECT_EQ(error("moore:d=2,dims=3x3", 10), "moore: the product of dims is 9, there are 10 ranks");
  EXPECT_EQ(error("moore:d=2,dims=3x3x1", 9), "moore: dims has 3 entries, expected 2");
  EXPECT_EQ(error("moore:d=2,dims=-2x-5", 10), "moore: dims must be between 1 and the number of ranks");
  EXPECT_EQ(error("moore:d=9", 4), "moore: d must be 1 to 8 and r 1 to 64");
  EXPECT_EQ(error("stencil:points=6", 4), "stencil: points must be 5, 9 (2-D), 7 or 27 (3-D)");
}

TEST(Graph, DimensionsAreNearEqual) {
  EXPECT_EQ(balanced_dims(16, 2), (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(balanced_dims(12, 2), (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(balanced_dims(64, 3), (std::vector<std::int64_t>{4, 4, 4}));
  EXPECT_EQ(balanced_dims(7, 3), (std::vector<std::int64_t>{7, 1, 1}));
  EXPECT_EQ(balanced_dims(1, 2), (std::vector<std::int64_t>{1, 1}));
}

TEST(Graph, CollectivePatterns) {
  const Neighborhood n{{3, 1}, {2, 5, 2}};
  EXPECT_EQ(allgather_pattern(n, 8),
            (RankPattern{{{2, {{0, 8}}}, {5, {{0, 8}}}, {2, {{0, 8}}}}, {{3, {{0, 8}}}, {1, {{8, 8}}}}}));
  EXPECT_EQ(alltoall_pattern(n, 8),
            (RankPattern{{{2, {{0, 8}}}, {5, {{8, 8}}}, {2, {{16, 8}}}}, {{3, {{0, 8}}}, {1, {{8, 8}}}}}));
}

}  // namespace
}  // namespace laneway
