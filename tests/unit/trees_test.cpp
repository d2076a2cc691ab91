// The trees along which collectives go, from the view of each rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "algorithms/collective/cost_parts.hpp"
#include "algorithms/collective/groups.hpp"

namespace laneway::dense {
namespace {

std::vector<Tree> all_views(Rank ranks, Rank root, Rank radix) {
  std::vector<Rank> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 100);
  std::vector<Tree> trees;
  for (const Rank member : members) trees.push_back(knomial(group_of(members, member), root, radix));
  return trees;
}

const Tree& of(const std::vector<Tree>& trees, Rank rank) {
  return trees[static_cast<std::size_t>(rank - 100)];
}

/// All ranks of a subtree, its root first; what each view says of its children must be what they are.
std::vector<Rank> walk(const std::vector<Tree>& trees, Rank rank, int depth, int& deepest) {
  deepest = std::max(deepest, depth);
  const Tree& tree = of(trees, rank);
  std::vector<Rank> all{rank};
  for (std::size_t i = 0; i < tree.children.size(); ++i) {
    const Rank child = tree.children[i];
    EXPECT_EQ(of(trees, child).parent, rank);
    const std::vector<Rank> below = walk(trees, child, depth + 1, deepest);
    EXPECT_EQ(tree.below[i].front(), child);
    EXPECT_EQ(std::set<Rank>(tree.below[i].begin(), tree.below[i].end()), std::set<Rank>(below.begin(), below.end()));
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

TEST(Trees, ReachEachRankOnceInLogarithmicLevels) {
  for (const Rank radix : {2, 3, 4, 8})
    for (Rank ranks = 1; ranks <= 70; ++ranks)
      for (const Rank root : {0, ranks / 2, ranks - 1}) {
        const std::vector<Tree> trees = all_views(ranks, root, radix);
        EXPECT_EQ(of(trees, 100 + root).parent, -1);
        int deepest = 0;
        std::vector<Rank> reached = walk(trees, 100 + root, 0, deepest);
        std::ranges::sort(reached);
        std::vector<Rank> everyone(static_cast<std::size_t>(ranks));
        std::iota(everyone.begin(), everyone.end(), 100);
        ASSERT_EQ(reached, everyone) << ranks << " ranks, root " << root << ", radix " << radix;
        const TreeShape shape(ranks, radix);
        EXPECT_LE(deepest, shape.levels);
        EXPECT_EQ(static_cast<double>(of(trees, 100 + root).children.size()), shape.children)
            << ranks << " ranks, radix " << radix;
      }
}

TEST(Trees, OfShortDataAreFlat) {
  const std::vector<Tree> trees = all_views(8, 3, short_radix_inside);
  EXPECT_EQ(of(trees, 103).children.size(), 7U);
  for (const Rank rank : {100, 101, 102, 104, 105, 106, 107}) EXPECT_EQ(of(trees, rank).parent, 103);
}

}  // namespace
}  // namespace laneway::dense
