#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "machine/reorder/partition.hpp"
#include "machine/reorder/reorder.hpp"

namespace laneway {
namespace {

using Edges = std::vector<WeightedEdge>;

std::vector<Rank> nodes_of(const std::vector<Rank>& sizes) {
  std::vector<Rank> node;
  for (std::size_t n = 0; n < sizes.size(); ++n)
    node.insert(node.end(), static_cast<std::size_t>(sizes[n]), static_cast<Rank>(n));
  return node;
}

std::vector<Rank> sizes_of(const PartOf& parts, std::size_t count) {
  std::vector<Rank> sizes(count);
  for (Rank part : parts) ++sizes[static_cast<std::size_t>(part)];
  return sizes;
}

std::int64_t cut(const Edges& edges, const std::vector<Rank>& node, const std::vector<Rank>& process) {
  std::int64_t sum = 0;
  for (const WeightedEdge& edge : edges) {
    const auto at = [&](Rank v) { return node[static_cast<std::size_t>(process[static_cast<std::size_t>(v)])]; };
    if (at(edge.source) != at(edge.destination)) sum += edge.weight;
  }
  return sum;
}

std::vector<Rank> identity(std::size_t ranks) {
  std::vector<Rank> process(ranks);
  std::iota(process.begin(), process.end(), 0);
  return process;
}

/// What holds of every placement, against the definitions.
void expect_sound(const RankPlacement& placement, const std::vector<Rank>& node, const Edges& edges) {
  std::vector<Rank> sorted = placement.process;
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(sorted, identity(node.size()));
  std::int64_t weight = 0;
  for (const WeightedEdge& edge : edges) weight += edge.weight;
  EXPECT_EQ(placement.weight, weight);
  EXPECT_EQ(placement.cut_before, cut(edges, node, identity(node.size())));
  EXPECT_EQ(placement.cut_after, cut(edges, node, placement.process));
  Rank moved = 0;
  for (std::size_t v = 0; v < node.size(); ++v) {
    const Rank process = placement.process[v];
    if (process == static_cast<Rank>(v)) continue;
    ++moved;
    EXPECT_NE(node[static_cast<std::size_t>(process)], node[v]) << "vertex " << v << " has moved inside its node";
  }
  EXPECT_EQ(placement.moved, moved);
  EXPECT_TRUE(placement.moved == 0 || placement.cut_after < placement.cut_before);
}

std::int64_t least_cut(const Edges& edges, const std::vector<Rank>& node, std::vector<Rank> sizes) {
  PartOf parts(node.size());
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::function<void(std::size_t)> choose = [&](std::size_t v) {
    if (v == parts.size()) {
      best = std::min(best, cut(edges, parts, identity(parts.size())));
      return;
    }
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      if (sizes[n] == 0) continue;
      --sizes[n];
      parts[v] = static_cast<Rank>(n);
      choose(v + 1);
      ++sizes[n];
    }
  };
  choose(0);
  return best;
}

/// Both directions.
void join(Edges& edges, Rank a, Rank b, std::int64_t weight = 1) {
  edges.push_back({a, b, weight});
  edges.push_back({b, a, weight});
}

class PlacementWithScotch : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_partitioner()) GTEST_SKIP() << "SKIP: built without Scotch";
  }
};

TEST(Placement, NothingToGain) {
  const Edges ring{{0, 1, 5}, {1, 2, 5}, {2, 3, 5}, {3, 0, 5}};
  Edges complete;
  for (Rank a = 0; a < 5; ++a)
    for (Rank b = 0; b < a; ++b) join(complete, a, b, 7);
  const struct {
    std::vector<Rank> sizes;
    Edges edges;
  } cases[] = {
      {{}, {}},
      {{1}, {{0, 0, 9}}},
      {{4}, ring},
      {{1, 1, 1, 1}, ring},
      {{2, 2}, ring},
      {{2, 1, 2}, complete},
      {{2, 2}, {}},
      {{2, 2}, {{0, 2, 0}, {2, 0, 0}}},
      {{2, 2}, {{0, 0, 3}, {3, 3, 4}}},
      {{2, 3}, {{0, 1, 3}, {2, 4, 4}}},
  };
  for (const auto& c : cases) {
    const std::vector<Rank> node = nodes_of(c.sizes);
    const RankPlacement placement = place_ranks(node, c.edges);
    expect_sound(placement, node, c.edges);
    EXPECT_EQ(placement.process, identity(node.size()));
    EXPECT_EQ(placement.cut_after, placement.cut_before);
  }
}

TEST(Placement, WithoutScotchTheOrderStays) {
  if (has_partitioner()) GTEST_SKIP() << "SKIP: built with Scotch";
  Edges edges;
  join(edges, 0, 2);
  join(edges, 1, 3);
  EXPECT_EQ(place_ranks(nodes_of({2, 2}), edges).process, identity(4));
}

TEST_F(PlacementWithScotch, PairsMeet) {
  Edges edges;
  for (Rank v = 0; v < 8; ++v) join(edges, v, v + 8, 100);
  const std::vector<Rank> node = nodes_of({2, 2, 2, 2, 2, 2, 2, 2});
  const RankPlacement placement = place_ranks(node, edges);
  expect_sound(placement, node, edges);
  EXPECT_EQ(placement.cut_before, 1600);
  EXPECT_EQ(placement.cut_after, 0);
  // One of each pair can stay.
  EXPECT_EQ(placement.moved, 8);
}

TEST_F(PlacementWithScotch, UnevenNodes) {
  // A clique of five, one of three, one of two, dealt out.
  const std::vector<std::vector<Rank>> cliques{{0, 3, 5, 8, 9}, {1, 4, 6}, {2, 7}};
  Edges edges;
  for (const auto& clique : cliques)
    for (Rank a : clique)
      for (Rank b : clique)
        if (a < b) join(edges, a, b, 10);
  join(edges, 0, 1);
  join(edges, 6, 7);
  const std::vector<Rank> node = nodes_of({3, 5, 2});
  const RankPlacement placement = place_ranks(node, edges);
  expect_sound(placement, node, edges);
  EXPECT_EQ(placement.cut_after, 4);
}

TEST_F(PlacementWithScotch, WeightsDecide) {
  // The same cycle: as it lies on the nodes, or not.
  for (const bool heavy_inside : {true, false}) {
    Edges edges;
    for (Rank v = 0; v < 8; ++v) join(edges, v, (v + 1) % 8, (v % 2 == 0) == heavy_inside ? 50 : 1);
    const std::vector<Rank> node = nodes_of({2, 2, 2, 2});
    const RankPlacement placement = place_ranks(node, edges);
    expect_sound(placement, node, edges);
    EXPECT_EQ(placement.cut_before, heavy_inside ? 8 : 400);
    EXPECT_EQ(placement.cut_after, 8);
    EXPECT_EQ(placement.moved == 0, heavy_inside);
  }
}

TEST_F(PlacementWithScotch, MostRanksIsolated) {
  Edges edges;
  join(edges, 0, 15, 3);
  join(edges, 15, 7, 3);
  const std::vector<Rank> node = nodes_of({1, 2, 3, 2, 2, 2, 2, 2});
  const RankPlacement placement = place_ranks(node, edges);
  expect_sound(placement, node, edges);
  EXPECT_EQ(placement.cut_after, 0);
  EXPECT_EQ(placement.moved, 6);
}

TEST_F(PlacementWithScotch, LargeWeights) {
  // Their sum has more than 32 bits, and an edge of weight 1 is lost where it is scaled.
  constexpr std::int64_t heavy = std::numeric_limits<std::int32_t>::max();
  Edges edges;
  for (Rank v = 0; v < 6; ++v) {
    join(edges, v, v + 6, heavy);
    join(edges, v, (v + 1) % 6, 1);
  }
  const std::vector<Rank> node = nodes_of({2, 2, 4, 4});
  const RankPlacement placement = place_ranks(node, edges);
  expect_sound(placement, node, edges);
  EXPECT_EQ(placement.cut_before, 12 * heavy + 6);
  EXPECT_LT(placement.cut_after, heavy);
}

TEST_F(PlacementWithScotch, NearTheBestOnSmallGraphs) {
  std::mt19937 random(5);
  auto pick = [&](int most) { return static_cast<Rank>(random() % static_cast<unsigned>(most)); };
  std::int64_t before = 0, after = 0, best = 0;
  for (int turn = 0; turn < 300; ++turn) {
    const Rank ranks = 1 + pick(9);
    std::vector<Rank> node, sizes;
    for (Rank v = 0; v < ranks;) {
      sizes.push_back(std::min(1 + pick(4), ranks - v));
      v += sizes.back();
    }
    // Any numbers, in any order.
    for (Rank n : nodes_of(sizes)) node.push_back(100 - 7 * n);
    std::shuffle(node.begin(), node.end(), random);
    Edges edges;
    for (int count = pick(3 * ranks); count > 0; --count)
      edges.push_back({pick(ranks), pick(ranks), pick(3) == 0 ? pick(1000) : pick(5)});
    const RankPlacement placement = place_ranks(node, edges);
    expect_sound(placement, node, edges);
    EXPECT_EQ(place_ranks(node, edges).process, placement.process) << "not repeatable";
    before += placement.cut_before;
    after += placement.cut_after;
    best += least_cut(edges, node, sizes);
  }
  EXPECT_LE(static_cast<double>(after - best), 0.1 * static_cast<double>(before - best))
      << "before " << before << ", after " << after << ", best " << best;
}

TEST_F(PlacementWithScotch, ShuffledGrid) {
  std::mt19937 random(7);
  std::vector<Rank> name = identity(20 * 20);
  std::shuffle(name.begin(), name.end(), random);
  Edges edges;
  for (std::size_t x = 0; x < 20; ++x)
    for (std::size_t y = 0; y < 20; ++y) {
      if (x + 1 < 20) join(edges, name[x * 20 + y], name[(x + 1) * 20 + y]);
      if (y + 1 < 20) join(edges, name[x * 20 + y], name[x * 20 + y + 1]);
    }
  const std::vector<Rank> node = nodes_of(std::vector<Rank>(16, 25));
  const RankPlacement placement = place_ranks(node, edges);
  expect_sound(placement, node, edges);
  // In squares of 5 x 5: 2 * 2 * 3 * 20.
  EXPECT_LT(placement.cut_after, 2 * 240);
  EXPECT_GT(placement.cut_before, 5 * 240);
}

TEST(Partition, FillsExactly) {
  std::mt19937 random(3);
  auto pick = [&](int most) { return static_cast<Rank>(random() % static_cast<unsigned>(most)); };
  for (int turn = 0; turn < 300; ++turn) {
    const Rank ranks = 1 + pick(40);
    std::vector<Rank> sizes(static_cast<std::size_t>(1 + pick(6)));
    for (Rank v = 0; v < ranks; ++v) ++sizes[static_cast<std::size_t>(pick(static_cast<int>(sizes.size())))];
    Edges edges;
    for (int count = pick(4 * ranks); count > 0; --count) edges.push_back({pick(ranks), pick(ranks), pick(100)});
    const Adjacency graph(ranks, edges);
    PartOf parts(static_cast<std::size_t>(ranks));
    for (Rank& part : parts) part = pick(static_cast<int>(sizes.size()));
    const PartOf before = parts;
    Rank needed = 0;
    for (std::size_t p = 0; p < sizes.size(); ++p) needed += std::max(sizes_of(parts, sizes.size())[p] - sizes[p], 0);
    fill_exactly(graph, sizes, parts);
    EXPECT_EQ(sizes_of(parts, sizes.size()), sizes);
    Rank moved = 0;
    for (std::size_t v = 0; v < parts.size(); ++v) moved += parts[v] != before[v];
    EXPECT_EQ(moved, needed);
    EXPECT_EQ(cut_of(graph, parts), cut(edges, parts, identity(parts.size())));

    const std::int64_t filled = cut_of(graph, parts);
    refine(graph, parts);
    EXPECT_EQ(sizes_of(parts, sizes.size()), sizes);
    EXPECT_LE(cut_of(graph, parts), filled);
    EXPECT_EQ(cut_of(graph, parts), cut(edges, parts, identity(parts.size())));
  }
}

TEST(Partition, Grows) {
  // A clique of three and a pair.
  const Adjacency graph(6, {{0, 2, 5}, {2, 5, 5}, {0, 5, 5}, {1, 3, 9}, {1, 2, 1}});
  EXPECT_EQ(grow(graph, {1, 2, 3}), (PartOf{2, 1, 2, 1, 0, 2}));
  EXPECT_EQ(grow(graph, {6}), PartOf(6, 0));
  EXPECT_EQ(grow(Adjacency(3, {}), {0, 1, 2}), (PartOf{2, 2, 1}));
}

TEST(Partition, FillingMovesWhatIsLooselyTied) {
  // 0-1-2 hang together, 3 hangs on 4 in the other part.
  const Adjacency graph(5, {{0, 1, 5}, {1, 2, 5}, {3, 4, 2}, {2, 3, 1}});
  PartOf parts{0, 0, 0, 0, 1};
  fill_exactly(graph, {3, 2}, parts);
  EXPECT_EQ(parts, (PartOf{0, 0, 0, 1, 1}));
}

TEST(Partition, RefiningSwaps) {
  const Adjacency graph(4, {{0, 2, 5}, {1, 3, 5}, {0, 1, 1}});
  PartOf parts{0, 0, 1, 1};
  refine(graph, parts);
  EXPECT_EQ(cut_of(graph, parts), 1);
}

TEST(Partition, Adjacency) {
  const Adjacency graph(4, {{0, 1, 5}, {1, 0, 6}, {0, 1, 1}, {2, 2, 9}, {3, 1, 2}, {0, 3, 0}});
  EXPECT_EQ(graph.vertices(), 4);
  EXPECT_EQ(graph.arcs(), 4U);
  std::map<Rank, std::map<Rank, std::int64_t>> weights;
  for (Rank v = 0; v < 4; ++v)
    for (const Adjacency::Arc& arc : graph.of(v)) weights[v][arc.vertex] = arc.weight;
  EXPECT_EQ(weights,
            (std::map<Rank, std::map<Rank, std::int64_t>>{{0, {{1, 12}}}, {1, {{0, 12}, {3, 2}}}, {3, {{1, 2}}}}));
}

}  // namespace
}  // namespace laneway
