#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/collective/layout.hpp"
#include "allocations.hpp"
#include "cases.hpp"

namespace laneway::layouts {
namespace {

/// All that a layout says, written down rank by rank.
struct Naive {
  std::vector<Rank> region;
  std::vector<Rank> index;
  std::vector<std::vector<Rank>> members;

  explicit Naive(const std::vector<Rank>& ids) {
    std::map<Rank, Rank> number;
    for (const Rank id : ids) {
      const Rank rank = static_cast<Rank>(region.size());
      number.emplace(id, static_cast<Rank>(number.size()));
      region.push_back(number[id]);
      members.resize(number.size());
      std::vector<Rank>& own = members[static_cast<std::size_t>(number[id])];
      index.push_back(static_cast<Rank>(own.size()));
      own.push_back(rank);
    }
  }

  [[nodiscard]] std::vector<Rank> refined(Rank parts) const {
    std::vector<Rank> ids;
    for (std::size_t rank = 0; rank < region.size(); ++rank) {
      const auto size = static_cast<Rank>(members[static_cast<std::size_t>(region[rank])].size());
      const Rank cut = std::clamp(parts, 1, size);
      ids.push_back(region[rank] * 1000 + index[rank] * cut / size);
    }
    return ids;
  }
};

void compare(const Layout& layout, const Naive& naive, const std::string& what) {
  ASSERT_EQ(layout.ranks(), static_cast<Rank>(naive.region.size())) << what;
  ASSERT_EQ(layout.regions(), static_cast<Rank>(naive.members.size())) << what;
  for (Rank rank = 0; rank < layout.ranks(); ++rank) {
    ASSERT_EQ(layout.region(rank), naive.region[static_cast<std::size_t>(rank)]) << what;
    ASSERT_EQ(layout.index(rank), naive.index[static_cast<std::size_t>(rank)]) << what;
  }
  Rank before = 0;
  Rank largest = 0;
  Rank smallest = layout.ranks();
  bool follow_each_other = true;
  for (Rank region = 0; region < layout.regions(); ++region) {
    const std::vector<Rank>& expected = naive.members[static_cast<std::size_t>(region)];
    const auto members = layout.members(region);
    ASSERT_TRUE(std::ranges::equal(members, expected)) << what << ", region " << region;
    ASSERT_EQ(std::vector<Rank>(members.begin(), members.end()), expected) << what;
    const auto size = static_cast<Rank>(expected.size());
    ASSERT_EQ(layout.size(region), size) << what;
    ASSERT_EQ(layout.leader(region), expected.front()) << what;
    ASSERT_EQ(layout.member(region, size - 1), expected.back()) << what;
    ASSERT_EQ(layout.ranks_before(region), before) << what;
    before += size;
    largest = std::max(largest, size);
    smallest = std::min(smallest, size);
    follow_each_other = follow_each_other && expected.back() - expected.front() + 1 == size;
  }
  EXPECT_EQ(layout.largest(), largest) << what;
  EXPECT_EQ(layout.smallest(), smallest) << what;
  EXPECT_EQ(layout.placement() == Layout::Placement::blocks, follow_each_other) << what;
}

/// Ids of regions of so many ranks, one region after the other, or in turn while a region has ranks left.
std::vector<Rank> ids_of(std::vector<Rank> sizes, bool dealt, cases::Random& random) {
  std::vector<Rank> ids;
  std::vector<Rank> names(sizes.size());
  std::iota(names.begin(), names.end(), 7);
  random.shuffle(names);
  for (bool has_more = true; has_more;) {
    has_more = false;
    for (std::size_t region = 0; region < sizes.size(); ++region) {
      const Rank taken = dealt ? std::min(sizes[region], 1) : sizes[region];
      ids.insert(ids.end(), static_cast<std::size_t>(taken), names[region]);
      sizes[region] -= taken;
      has_more = has_more || sizes[region] > 0;
    }
  }
  return ids;
}

TEST(Layouts, SayWhatATableOfAllRanksSays) {
  int by_placement[3] = {0, 0, 0};
  for (std::uint64_t seed = 1; seed <= cases::effort(1200); ++seed) {
    cases::Random random(seed);
    std::vector<Rank> sizes(static_cast<std::size_t>(random.between(1, 9)));
    const auto same = static_cast<Rank>(random.between(1, 6));
    const bool even = random.chance(50);
    for (Rank& size : sizes) size = even ? same : static_cast<Rank>(random.between(1, 6));
    if (random.chance(20)) sizes.back() = 1;
    const bool dealt = random.chance(50);
    std::vector<Rank> ids = ids_of(sizes, dealt, random);
    if (random.chance(25)) random.shuffle(ids);
    const Layout layout(ids);
    const Naive naive(ids);
    ++by_placement[static_cast<int>(layout.placement())];
    const std::string what = "seed " + std::to_string(seed);
    compare(layout, naive, what);
    compare(Layout(layout), naive, what + ", copied");
    for (const Rank parts : {1, 2, 3, 4, 100})
      compare(layout.refined(parts), Naive(naive.refined(parts)), what + ", in " + std::to_string(parts));
    if (HasFatalFailure()) return;
  }
  for (const int layouts : by_placement) EXPECT_GT(layouts, 10);
}

/// What a copy allocates, and itself.
std::int64_t bytes_of(const Layout& layout) {
  const std::int64_t before = allocated_bytes_so_far();
  const Layout copy = layout;
  return allocated_bytes_so_far() - before + static_cast<std::int64_t>(sizeof copy);
}

TEST(Layouts, OfManyEqualNodesTakeNoMoreThanOfFew) {
  constexpr Rank ranks = 16384;
  for (const bool dealt : {false, true}) {
    cases::Random random(3);
    EXPECT_LT(bytes_of(Layout(ids_of(std::vector<Rank>(ranks / 16, 16), dealt, random))), 200);
    std::vector<Rank> last_is_smaller(ranks / 16, 16);
    last_is_smaller.back() = 15;
    EXPECT_LT(bytes_of(Layout(ids_of(last_is_smaller, dealt, random))), 200);
    EXPECT_LT(bytes_of(Layout(ids_of(std::vector<Rank>(ranks, 1), dealt, random))), 200);
  }
}

}  // namespace
}  // namespace laneway::layouts
