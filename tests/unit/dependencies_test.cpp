#include "plan/writer/dependencies.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "base/bytes/sort_unique.hpp"
#include "cases.hpp"

namespace laneway::dependencies_cases {
namespace {

constexpr std::int64_t memory_bytes = 48;

/// Byte by byte.
struct Oracle {
  struct Byte {
    int writer = -1;
    std::set<int> readers;
  };
  Reuse reuse = Reuse::any;
  std::array<std::array<Byte, memory_bytes>, buffer_kinds> bytes;

  [[nodiscard]] bool matters(Buffer buffer) const {
    if (reuse == Reuse::any) return true;
    return buffer == Buffer::staging || (buffer == Buffer::receive && reuse == Reuse::sums);
  }
  Byte& at(Buffer buffer, std::int64_t i) {
    return bytes[static_cast<std::size_t>(buffer)][static_cast<std::size_t>(i)];
  }
  bool reads(Buffer buffer, Range range, int step, std::set<int>& after) {
    bool whole = true;
    if (buffer == Buffer::send || !matters(buffer)) return whole;
    for (std::int64_t i = range.offset; i < range.end(); ++i) {
      Byte& byte = at(buffer, i);
      whole = whole && byte.writer >= 0;
      if (byte.writer >= 0 && byte.writer != step) after.insert(byte.writer);
      byte.readers.insert(step);
    }
    return whole;
  }
  void writes(Buffer buffer, Range range, int step, std::set<int>& after) {
    if (!matters(buffer)) return;
    for (std::int64_t i = range.offset; i < range.end(); ++i) {
      Byte& byte = at(buffer, i);
      if (reuse != Reuse::none && byte.writer >= 0 && byte.writer != step) after.insert(byte.writer);
      for (const int reader : byte.readers)
        if (reuse == Reuse::any && reader != step) after.insert(reader);
      byte = {step, {}};
    }
  }
};

RangeList random_list(cases::Random& random) {
  RangeList list;
  for (std::int64_t n = random.between(1, 3); n > 0; --n) {
    const std::int64_t offset = random.between(0, memory_bytes - 1);
    list.append(Range{offset, random.between(1, std::min<std::int64_t>(12, memory_bytes - offset))});
  }
  return list;
}

TEST(Dependencies, AreThoseOfEachByte) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    cases::Random random(seed);
    Oracle oracle{random.one_of<Reuse>({Reuse::none, Reuse::sums, Reuse::any}), {}};
    Dependencies dependencies(oracle.reuse);
    for (int step = 0; step < 40; ++step) {
      std::vector<int> after;
      std::set<int> expected;
      for (const bool is_write : {false, true}) {
        const auto buffer = random.one_of<Buffer>({Buffer::send, Buffer::receive, Buffer::staging});
        const RangeList list = random_list(random);
        bool whole = true;
        list.for_each([&](Range range) {
          if (is_write)
            oracle.writes(buffer, range, step, expected);
          else
            whole = oracle.reads(buffer, range, step, expected) && whole;
        });
        if (is_write)
          dependencies.writes(buffer, list, step, after);
        else
          ASSERT_EQ(dependencies.reads(buffer, list, step, after), whole) << seed << " step " << step;
      }
      sort_unique(after);
      ASSERT_EQ(after, std::vector<int>(expected.begin(), expected.end())) << seed << " step " << step;
    }
    std::int64_t at = 3;
    dependencies.for_each_stretch(Buffer::staging, {3, memory_bytes - 5}, [&](Range range, bool written) {
      EXPECT_EQ(range.offset, at);
      for (; at < range.end(); ++at) EXPECT_EQ(oracle.at(Buffer::staging, at).writer >= 0, written) << seed;
    });
    EXPECT_EQ(at, memory_bytes - 2);
  }
}

}  // namespace
}  // namespace laneway::dependencies_cases
