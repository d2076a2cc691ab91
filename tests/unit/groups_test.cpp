// What is made of lists with groups: copies, programs for them, and plans, in proportion to how the lists are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes/disjoint.hpp"
#include "base/bytes/ranges.hpp"
#include "cases.hpp"
#include "plan/pattern.hpp"
#include "plan/writer/bundles.hpp"
#include "plan/writer/copy_runs.hpp"
#include "runtime/executor/copy.hpp"

namespace laneway {
namespace {

using cases::Random;
using Copied = std::vector<std::pair<std::int64_t, std::int64_t>>;  // from, to

Copied bytes_of(const std::vector<CopyRun>& runs) {
  Copied bytes;
  for (const CopyRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      for (std::int64_t byte = 0; byte < run.bytes; ++byte)
        bytes.emplace_back(run.from + i * run.from_stride + byte, run.to + i * run.to_stride + byte);
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

Copied paired(const RangeList& from, const RangeList& to) {
  std::vector<std::int64_t> sources;
  from.for_each([&](Range range) {
    for (std::int64_t i = 0; i < range.bytes; ++i) sources.push_back(range.offset + i);
  });
  Copied bytes;
  std::size_t n = 0;
  to.for_each([&](Range range) {
    for (std::int64_t i = 0; i < range.bytes; ++i) bytes.emplace_back(sources[n++], range.offset + i);
  });
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

/// Names no byte twice.
RangeList random_groups(Random& random) {
  RangeList list;
  std::int64_t at = random.between(-50, 50);
  for (std::int64_t n = random.between(1, 3); n > 0; --n) {
    RangeList once;
    std::int64_t end = 0;
    for (std::int64_t blocks = random.between(1, 3); blocks > 0; --blocks) {
      const std::int64_t bytes = random.between(1, 9), stride = bytes + random.between(0, 3),
                         count = random.chance(30) ? random.between(2, 6) : 1;
      once.append(laneway::Run{end, bytes, stride, count});
      end += stride * count + random.between(0, 4);
    }
    const std::int64_t count = random.between(1, 40);
    list.append_repeated(once, count, end, at);
    at += count * end + random.between(0, 9);
  }
  return list;
}

TEST(Groups, CopiesMoveTheSameBytes) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    RangeList from = random_groups(random), to = random_groups(random);
    if (random.chance(30)) to = {{random.between(-20, 20), from.bytes()}};
    if (random.chance(30)) from = {{random.between(-20, 20), to.bytes()}};
    const std::int64_t bytes = std::min(from.bytes(), to.bytes());
    from = from.slice(random.between(0, from.bytes() - bytes), bytes);
    to = to.slice(random.between(0, to.bytes() - bytes), bytes);
    const std::vector<CopyRun> runs = copy_runs(from, to);
    const Copied expected = paired(from, to);
    ASSERT_EQ(bytes_of(runs), expected) << "seed " << seed << ": " << to_string(from) << " to " << to_string(to);
    ASSERT_EQ(RangeSet(read_by(runs)), RangeSet(from)) << "seed " << seed;
    ASSERT_EQ(RangeSet(written_by(runs)), RangeSet(to)) << "seed " << seed;

    const Range read = hull(from), written = hull(to);
    std::vector<std::byte> source(static_cast<std::size_t>(read.bytes)),
        target(static_cast<std::size_t>(written.bytes));
    for (std::byte& byte : source) byte = static_cast<std::byte>(random.between(1, 255));
    std::vector<std::byte> wanted = target;
    for (const auto& [a, b] : expected)
      wanted[static_cast<std::size_t>(b - written.offset)] = source[static_cast<std::size_t>(a - read.offset)];
    const CopyProgram program(runs);
    ASSERT_EQ(program.bytes(), bytes);
    program.run(source.data() - read.offset, target.data() - written.offset);
    ASSERT_EQ(target, wanted) << "seed " << seed << ": " << to_string(from) << " to " << to_string(to);
  }
}

TEST(Groups, CopiesTakeMemoryForOneTime) {
  const auto elements = [](std::int64_t count, std::int64_t offset) {
    RangeList list;
    list.append_repeated({{0, 4}, {8, 9}}, count, 24, offset);
    return list;
  };
  const auto size_of = [&](const RangeList& from, const RangeList& to) {
    const std::vector<CopyRun> runs = copy_runs(from, to);
    return static_cast<std::int64_t>(runs.size() * sizeof(CopyRun)) + CopyProgram(runs).metadata_bytes();
  };
  const RangeList packed{{0, 13 * 1000000}};
  const std::int64_t one_time = size_of(elements(100, 0), {{0, 1300}});
  EXPECT_LE(one_time, 512);
  EXPECT_EQ(size_of(elements(1000000, 0), packed), one_time);
  EXPECT_EQ(size_of(packed, elements(1000000, 0)), one_time);
  EXPECT_EQ(size_of(elements(1000000, 0), elements(1000000, 96)), one_time);
  // Cut anywhere, as messages between nodes are.
  const RangeList part = elements(1000000, 0).slice(57344, 57344);
  EXPECT_LE(size_of(part, {{0, 57344}}), 3 * one_time);
  // Elements that differ on both sides.
  RangeList other;
  other.append_repeated({{0, 8}, {16, 5}, {32, 13}}, 500000, 64, 0);
  EXPECT_LE(size_of(elements(1000000, 0), other), 4 * one_time);
}

TEST(Groups, PacksAreFoundAgain) {
  RangeList elements;
  elements.append_repeated({{0, 4}, {8, 9}}, 1000, 24, 5);
  const std::vector<CopyRun> runs = copy_runs(elements, {{64, 13000}});
  int bundles = 0;
  for_each_bundle(runs, [&](std::span<const CopyRun> bundle) {
    ++bundles;
    const auto found = pack(bundle, &CopyRun::to, &CopyRun::to_stride, &CopyRun::from, &CopyRun::from_stride);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->here, (Range{64, 13000}));
    EXPECT_EQ(found->there, elements);
    EXPECT_FALSE(pack(bundle, &CopyRun::from, &CopyRun::from_stride, &CopyRun::to, &CopyRun::to_stride));
  });
  EXPECT_EQ(bundles, 1);
}

TEST(Groups, PlacesThatMayOverlapAreResolved) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<Edge> in;
    for (std::int64_t n = random.between(1, 3); n > 0; --n) in.push_back({0, random_groups(random)});
    std::map<std::int64_t, std::pair<std::size_t, std::int64_t>> expected;  // by place: edge, position
    for (std::size_t edge = 0; edge < in.size(); ++edge) {
      std::int64_t position = 0;
      in[edge].ranges.for_each([&](Range range) {
        for (std::int64_t i = 0; i < range.bytes; ++i) expected[range.offset + i] = {edge, position++};
      });
    }
    std::map<std::int64_t, std::pair<std::size_t, std::int64_t>> found;
    const std::vector<Landing> all = landings(in);
    for (std::size_t edge = 0; edge < in.size(); ++edge)
      for_each_pair(all[edge].stream, all[edge].place, [&](std::int64_t at, std::int64_t place, std::int64_t bytes) {
        for (std::int64_t i = 0; i < bytes; ++i) found[place + i] = {edge, at + i};
      });
    ASSERT_EQ(found, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace laneway
