#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "base/bytes/wire.hpp"
#include "base/error.hpp"
#include "cases.hpp"

namespace laneway {
namespace {

using cases::offsets;
using cases::Offsets;
using cases::Random;

constexpr std::int64_t low = -64;
constexpr std::int64_t high = 128;
using Bits = std::array<bool, static_cast<std::size_t>(high - low)>;

Bits bits(const RangeSet& set) {
  Bits result{};
  for (Range range : set.ranges())
    for (std::int64_t i = range.offset; i < range.end(); ++i) result[static_cast<std::size_t>(i - low)] = true;
  return result;
}

RangeSet random_set(Random& random) {
  std::vector<Range> ranges;
  for (std::int64_t n = random.between(0, 8); n > 0; --n)
    ranges.push_back({random.between(low, high - 20), random.between(0, 20)});
  return RangeSet(ranges);
}

TEST(RangeList, AppendingKeepsTheByteSequence) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    RangeList list;
    Offsets expected;
    for (std::int64_t n = random.between(0, 8); n > 0; --n) {
      RangeList more;
      switch (random.between(0, 2)) {
        case 0:
          more.append(Range{random.between(-10, 20), random.between(0, 5)});
          break;
        case 1:
          more.append(
              laneway::Run{random.between(-10, 20), random.between(0, 3), random.between(-4, 6), random.between(0, 5)});
          break;
        default:
          more = cases::random_ranges(random, random.between(0, 8), 2);
      }
      const std::int64_t shift = random.between(-3, 3);
      for (std::int64_t offset : offsets(more)) expected.push_back(offset + shift);
      list.append(more, shift);
    }
    ASSERT_EQ(offsets(list), expected) << "seed " << seed;
    ASSERT_EQ(list.bytes(), static_cast<std::int64_t>(expected.size()));
    std::int64_t blocks = 0;
    list.for_each([&](Range) { ++blocks; });
    ASSERT_EQ(list.blocks(), blocks);

    const std::int64_t begin = random.between(0, list.bytes());
    const std::int64_t bytes = random.between(0, list.bytes() - begin);
    const RangeList slice = list.slice(begin, bytes);
    ASSERT_EQ(offsets(slice), Offsets(expected.begin() + begin, expected.begin() + begin + bytes)) << "seed " << seed;

    RangeList again = list.slice(0, begin);
    again.append(list.slice(begin, list.bytes() - begin));
    ASSERT_EQ(again, list) << "seed " << seed << ": " << to_string(again) << " and " << to_string(list);

    Writer writer;
    writer.put(list);
    const Bytes bytes_of_list = writer.take();
    ASSERT_EQ(Reader(bytes_of_list).get_ranges(), list);
  }
}

TEST(RangeList, TheSameBytesAreEqualHoweverTheyAreAppended) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const RangeList list = cases::random_ranges(random, random.between(0, 20), 2);
    RangeList by_byte;
    for (std::int64_t offset : offsets(list)) by_byte.append(Range{offset, 1});
    ASSERT_EQ(by_byte, list) << "seed " << seed << ": " << to_string(by_byte) << " and " << to_string(list);
    RangeList by_run;
    for (const laneway::Run& run : list.runs()) by_run.append(run);
    ASSERT_EQ(by_run, list) << "seed " << seed;
  }
}

TEST(RangeList, IndicesAreCompressed) {
  const std::array<std::int64_t, 8> indices = {0, 1, 2, 10, 20, 30, 5, 5};
  const RangeList list = RangeList::from_indices(indices, 8);
  EXPECT_EQ(to_string(list), "0+24 80+8*3@80 40+8*2@0");
  EXPECT_EQ(list.bytes(), 64);
  std::vector<std::int64_t> every_third(100000);
  for (std::size_t i = 0; i < every_third.size(); ++i) every_third[i] = static_cast<std::int64_t>(3 * i);
  EXPECT_EQ(RangeList::from_indices(every_third, 8).runs(), (std::vector<laneway::Run>{{0, 8, 24, 100000}}));
}

/// A few runs, some of them repeated, with the offsets of their bytes.
void append_random(Random& random, RangeList& list, Offsets& expected, int depth) {
  for (std::int64_t n = random.between(0, 3); n > 0; --n) {
    RangeList more;
    Offsets of_more;
    if (depth > 0 && random.chance(70)) {
      append_random(random, more, of_more, depth - 1);
    } else {
      for (std::int64_t blocks = random.between(1, 4); blocks > 0; --blocks)
        more.append(Range{random.between(-10, 20), random.between(1, 3)});
      of_more = offsets(more);
    }
    const std::int64_t count = random.between(0, 5), offset = random.between(-20, 20);
    // Strides at which the times adjoin are likely.
    const std::int64_t stride = random.between(-8, 24);
    list.append_repeated(more, count, stride, offset);
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t byte : of_more) expected.push_back(byte + offset + i * stride);
  }
}

TEST(RangeList, GroupsKeepTheByteSequence) {
  int with_groups = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    Random random(seed);
    RangeList list;
    Offsets expected;
    append_random(random, list, expected, 2);
    with_groups += list.groups() > 0;
    ASSERT_EQ(offsets(list), expected) << "seed " << seed << ": " << to_string(list);
    ASSERT_EQ(list.bytes(), static_cast<std::int64_t>(expected.size()));
    RangeList plain;
    for (std::int64_t byte : expected) plain.append(Range{byte, 1});
    ASSERT_EQ(list, plain) << "seed " << seed << ": " << to_string(list) << " and " << to_string(plain);
    ASSERT_EQ(plain, list);
    ASSERT_EQ(list.contiguous().has_value(), plain.contiguous().has_value())
        << "seed " << seed << ": " << to_string(list);

    Writer writer;
    writer.put(list);
    const Bytes bytes = writer.take();
    ASSERT_EQ(Reader(bytes).get_ranges(), list) << "seed " << seed << ": " << to_string(list);

    RangeList moved;
    moved.append(list, 1000);
    moved.append(list, -7);
    Offsets twice;
    for (std::int64_t by : {1000, -7})
      for (std::int64_t byte : expected) twice.push_back(byte + by);
    ASSERT_EQ(offsets(moved), twice) << "seed " << seed << ": " << to_string(list);

    const Slicer slicer(list);
    for (int n = 0; n < 8; ++n) {
      const std::int64_t begin = random.between(0, list.bytes()), size = random.between(0, list.bytes() - begin);
      const Offsets part(expected.begin() + begin, expected.begin() + begin + size);
      ASSERT_EQ(offsets(list.slice(begin, size)), part) << "seed " << seed << ": " << to_string(list);
      ASSERT_EQ(offsets(slicer.slice(begin, size)), part) << "seed " << seed << ": " << to_string(list);
    }
    if (plain.empty()) continue;
    plain.append(Range{expected.back() + 2, 1});
    RangeList other = list;
    other.append(Range{expected.back() + 3, 1});
    ASSERT_FALSE(other == plain);
  }
  EXPECT_GT(with_groups, 1500);
}

TEST(RangeList, GroupsTakeMemoryForOneTime) {
  RangeList element = {{0, 4}, {8, 9}};
  RangeList elements;
  elements.append_repeated(element, std::int64_t{1} << 40, 24, 0);
  EXPECT_EQ(elements.runs().size(), 2U);
  EXPECT_EQ(elements.groups(), 1U);
  EXPECT_EQ(elements.blocks(), std::int64_t{2} << 40);
  EXPECT_EQ(to_string(elements), "(0+4 8+9)*1099511627776@24");
  const RangeList middle = elements.slice(13 * 1000 + 5, std::int64_t{13} << 30);
  EXPECT_EQ(middle.groups(), 1U);
  EXPECT_LE(middle.runs().size(), 5U);
  // Blocks that adjoin from one time to the next are one.
  RangeList joined;
  joined.append_repeated({{0, 4}, {8, 8}}, 1000, 16, 0);
  EXPECT_EQ(to_string(joined), "0+4 8+12*999@16 15992+8");
  // Groups in groups: whichever takes less.
  RangeList rows;
  rows.append_repeated(elements.slice(0, 13000), 10, 100000, 0);
  EXPECT_EQ(rows.groups(), 10U);
  RangeList small;
  small.append_repeated(elements.slice(0, 13 * 3), 1000, 100000, 0);
  EXPECT_EQ(small.groups(), 1U);
  EXPECT_LE(small.runs().size(), 6U);
}

TEST(RangeList, ContiguousAndEmpty) {
  EXPECT_EQ(RangeList{}.contiguous(), Range{});
  EXPECT_EQ((RangeList{{8, 4}, {12, 4}}.contiguous()), (Range{8, 8}));
  EXPECT_EQ((RangeList{{8, 4}, {8, 4}}.contiguous()), std::nullopt);
  EXPECT_EQ((RangeList{{8, 4}, {4, 4}}.contiguous()), std::nullopt);
  EXPECT_TRUE((RangeList{{8, 0}}).empty());
  EXPECT_EQ(to_string(RangeList{}), "-");
}

TEST(RangeList, HugeOffsetsAreExact) {
  const std::int64_t far = std::int64_t{1} << 40;
  RangeList list;
  list.append(laneway::Run{-far, 1 << 20, 1 << 22, 1 << 20});
  EXPECT_EQ(list.bytes(), far);
  EXPECT_EQ(list.slice(far - 1, 1), (RangeList{{-far + ((std::int64_t{1} << 20) - 1) * (1 << 22) + (1 << 20) - 1, 1}}));
}

TEST(RangeSet, AlgebraAgreesWithBitsets) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const RangeSet a = random_set(random);
    const RangeSet b = random_set(random);
    const Bits bits_a = bits(a);
    const Bits bits_b = bits(b);
    Bits both{};
    Bits either{};
    Bits only_a{};
    for (std::size_t i = 0; i < bits_a.size(); ++i) {
      both[i] = bits_a[i] && bits_b[i];
      either[i] = bits_a[i] || bits_b[i];
      only_a[i] = bits_a[i] && !bits_b[i];
    }
    for (const auto& [set, expected] :
         {std::pair(intersect(a, b), both), std::pair(unite(a, b), either), std::pair(subtract(a, b), only_a)}) {
      ASSERT_EQ(bits(set), expected) << "seed " << seed << ": " << to_string(a) << " and " << to_string(b);
      ASSERT_EQ(set.bytes(), std::count(expected.begin(), expected.end(), true));
      ASSERT_EQ(set, RangeSet(set.list()));
      for (std::size_t i = 1; i < set.ranges().size(); ++i)
        ASSERT_LT(set.ranges()[i - 1].end(), set.ranges()[i].offset);
    }
    const Range range{random.between(low, high - 10), random.between(0, 10)};
    ASSERT_EQ(a.contains(range), subtract(RangeSet{range}, a).empty()) << "seed " << seed;
  }
}

TEST(Block, LocatesBytesInCanonicalOrder) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const RangeList list = cases::random_ranges(random, random.between(1, 20), 2);
    RangeSet set = unite(RangeSet(list), random_set(random));
    const Block block(set);
    const Offsets order = offsets(set.list());
    Offsets expected;
    for (std::int64_t offset : offsets(list))
      expected.push_back(std::lower_bound(order.begin(), order.end(), offset) - order.begin());
    ASSERT_EQ(offsets(block.locate(list)), expected) << "seed " << seed;
    ASSERT_EQ(block.bytes(), set.bytes());
  }
}

TEST(Block, OfGroupsIsOneListAfterTheOther) {
  RangeList first, second, third;
  first.append_repeated({{0, 4}, {8, 9}}, 1000, 24, 0);
  second.append_repeated({{0, 4}, {8, 9}}, 1000, 24, 24000);
  const RangeList same = first;
  const std::array<const RangeList*, 3> lists{&first, &second, &same};
  const Block block(lists);
  EXPECT_EQ(block.bytes(), 26000);
  EXPECT_EQ(block.locate(first), (RangeList{{0, 13000}}));
  EXPECT_EQ(block.locate(second), (RangeList{{13000, 13000}}));
  EXPECT_LE(block.list().runs().size(), 4U);
  // Lists that have some bytes in common only.
  third.append_repeated({{0, 4}, {8, 9}}, 100, 24, 48);
  const std::array<const RangeList*, 2> meeting{&first, &third};
  EXPECT_EQ(Block(meeting).bytes(), 13000);
  EXPECT_EQ(Block(meeting).locate(third), (RangeList{{26, 1300}}));
}

TEST(Block, RefusesBytesThatAreNotInTheSet) {
  const Block block(RangeSet{{0, 8}, {16, 8}});
  EXPECT_THROW((void)block.locate({{4, 8}}), Error);
  EXPECT_THROW((void)block.locate({{-1, 1}}), Error);
}

}  // namespace
}  // namespace laneway
