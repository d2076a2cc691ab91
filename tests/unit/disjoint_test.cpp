#include "base/bytes/disjoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cases.hpp"

namespace laneway {
namespace {

using cases::offsets;
using cases::Offsets;
using cases::Random;

TEST(Disjoint, IsNeverSaidWrongly) {
  int said = 0;
  int wrongly_not = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Random random(seed);
    std::vector<RangeList> lists(static_cast<std::size_t>(random.between(1, 3)));
    const std::int64_t stride = random.between(4, 12);
    Offsets all;
    for (RangeList& list : lists) {
      for (std::int64_t n = random.between(0, 3); n > 0; --n)
        list.append(laneway::Run{random.between(-40, 40), random.between(1, 4),
                                 random.chance(80) ? stride : random.between(-9, 9), random.between(1, 5)});
      const Offsets own = offsets(list);
      all.insert(all.end(), own.begin(), own.end());
      if (own.empty()) {
        EXPECT_EQ(hull(list), Range{});
        continue;
      }
      const auto [first, last] = std::minmax_element(own.begin(), own.end());
      EXPECT_EQ(hull(list), (Range{*first, *last - *first + 1})) << to_string(list);
    }
    std::sort(all.begin(), all.end());
    const bool disjoint = std::adjacent_find(all.begin(), all.end()) == all.end();
    std::vector<const RangeList*> pointers;
    for (const RangeList& list : lists) pointers.push_back(&list);
    const bool sure = surely_disjoint(pointers);
    said += sure;
    wrongly_not += disjoint && !sure;
    ASSERT_TRUE(disjoint || !sure) << "seed " << seed;
  }
  EXPECT_GT(said, 2 * wrongly_not);
  RangeList first, second;
  first.append(laneway::Run{0, 4, 24, std::int64_t{1} << 40});
  second.append(laneway::Run{8, 9, 24, std::int64_t{1} << 40});
  EXPECT_TRUE(surely_disjoint(std::array<const RangeList*, 2>{&first, &second}));
  EXPECT_FALSE(surely_disjoint(std::array<const RangeList*, 2>{&first, &first}));
}

}  // namespace
}  // namespace laneway
