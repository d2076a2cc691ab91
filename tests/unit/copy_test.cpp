#include "runtime/executor/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes/address.hpp"
#include "cases.hpp"

namespace laneway {
namespace {

using cases::Random;

/// The bytes that runs may touch, and those on both sides that they must leave alone.
constexpr std::int64_t window = 2500;
constexpr std::int64_t margin = 40;

/// What the runs mean.
void copy_byte_by_byte(const std::vector<CopyRun>& runs, std::byte* from, std::byte* to) {
  for (const CopyRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      for (std::int64_t byte = 0; byte < run.bytes; ++byte)
        *at(to, run.to + i * run.to_stride + byte) = *at(from, run.from + i * run.from_stride + byte);
}

std::string to_string(const std::vector<CopyRun>& runs) {
  std::string text;
  for (const CopyRun& run : runs)
    text += "[" + std::to_string(run.from) + "@" + std::to_string(run.from_stride) + " -> " + std::to_string(run.to) +
            "@" + std::to_string(run.to_stride) + ": " + std::to_string(run.count) + " * " + std::to_string(run.bytes) +
            "] ";
  return text;
}

/// Draws the places of runs, in one manner for several: at a stride that goes on from run to run, or anywhere.
class RandomPlaces {
 public:
  explicit RandomPlaces(Random& random) : random_(random) {}

  /// Offset and stride of `count` blocks of `bytes` bytes.
  std::pair<std::int64_t, std::int64_t> draw(std::int64_t bytes, std::int64_t count) {
    if (random_.chance(5)) {
      goes_on_ = random_.chance(60);
      pitch_ = random_.one_of<std::int64_t>({-2, -1, 1, 1, 1, 2, 3});
    }
    const std::int64_t most = (window - bytes) / std::max<std::int64_t>(1, count - 1);
    const std::int64_t stride =
        goes_on_ || random_.chance(30) ? std::clamp(pitch_ * bytes, -most, most) : random_.between(-most, most);
    const std::int64_t reach = stride * (count - 1);
    const std::int64_t lowest = std::max<std::int64_t>(0, -reach);
    const std::int64_t highest = window - bytes - std::max<std::int64_t>(0, reach);
    const bool fits = next_ >= lowest && next_ <= highest;
    const std::int64_t begin = goes_on_ && fits ? next_ : random_.between(lowest, highest);
    next_ = begin + reach + stride;
    return {begin, stride};
  }

 private:
  Random& random_;
  bool goes_on_ = true;
  std::int64_t pitch_ = 1;
  std::int64_t next_ = 0;
};

std::vector<CopyRun> random_runs(Random& random) {
  std::vector<CopyRun> runs;
  RandomPlaces from(random);
  RandomPlaces to(random);
  const auto width = random.one_of<std::int64_t>({1, 2, 3, 4, 4, 8, 8, 8, 16, 16, 24, 40});
  const bool one_size = random.chance(50);
  const bool one_count = random.chance(50);
  for (std::int64_t n = random.between(0, 60); n > 0; --n) {
    CopyRun run;
    run.bytes = one_size ? width : random.chance(5) ? random.between(0, 500) : width * random.between(1, 5);
    run.count = one_count ? 1 : random.chance(10) ? random.between(0, 40) : random.between(1, 3);
    std::tie(run.from, run.from_stride) = from.draw(run.bytes, run.count);
    std::tie(run.to, run.to_stride) = to.draw(run.bytes, run.count);
    runs.push_back(run);
  }
  return runs;
}

/// TwoPlaces in two places, which for a variable of a function are further apart than 32 bits reach.
struct TwoPlaces {
  using Place = std::array<std::byte, window + 2 * margin>;
  std::vector<Place> heap = std::vector<Place>(1);
  Place stack{};

  explicit TwoPlaces(Random& random) {
    for (Place* place : {heap.data(), &stack})
      for (std::byte& byte : *place) byte = random.byte();
  }
  [[nodiscard]] std::int64_t distance() const {
    return reinterpret_cast<std::intptr_t>(stack.data()) - reinterpret_cast<std::intptr_t>(heap[0].data());
  }
  friend bool operator==(const TwoPlaces&, const TwoPlaces&) = default;
};

/// Lets the runs begin at a random byte of `memory`, or some in one and some in the other place, with offsets from a
/// random base or from null.
std::byte* put(Random& random, std::vector<CopyRun>& runs, std::int64_t CopyRun::*offset, TwoPlaces& memory) {
  std::byte* begin = memory.heap[0].data() + random.between(0, 2 * margin);
  const std::int64_t shift = random.chance(30) ? reinterpret_cast<std::intptr_t>(begin) : random.between(-5000, 5000);
  const bool distant = random.chance(20);
  for (CopyRun& run : runs) run.*offset += shift + (distant && random.chance(50) ? memory.distance() : 0);
  return at(begin, -shift);
}

/// Any list of runs at any alignment: the same bytes, and no other is written.
TEST(CopyProgram, AgreesWithACopyByteByByte) {
  for (std::uint64_t seed = 1; seed <= cases::effort(20000); ++seed) {
    Random random(seed);
    std::vector<CopyRun> runs = random_runs(random);
    TwoPlaces from(random);
    TwoPlaces to(random);
    std::byte* from_base = put(random, runs, &CopyRun::from, from);
    std::byte* to_base = put(random, runs, &CopyRun::to, to);
    const TwoPlaces before = to;
    copy_byte_by_byte(runs, from_base, to_base);
    const TwoPlaces expected = to;
    std::copy(before.heap.begin(), before.heap.end(), to.heap.begin());
    to.stack = before.stack;

    const CopyProgram program(runs);
    program.run(from_base, to_base);
    ASSERT_TRUE(to == expected) << "seed " << seed << ": " << to_string(runs);
    std::int64_t bytes = 0;
    for (const CopyRun& run : runs) bytes += run.bytes * run.count;
    ASSERT_EQ(program.bytes(), bytes) << "seed " << seed;
  }
}

TEST(CopyProgram, CopiesLargeBlocks) {
  Random random(1);
  for (const std::int64_t bytes : {100'000, 5'000'001, 40'000'123}) {
    std::vector<std::byte> from(static_cast<std::size_t>(bytes + 2 * margin));
    for (std::byte& byte : from) byte = random.byte();
    const std::vector<CopyRun> runs = {{random.between(0, margin), random.between(0, margin), bytes, 0, 0, 1}};
    std::vector<std::byte> to(from.size());
    std::vector<std::byte> expected(from.size());
    copy_byte_by_byte(runs, from.data(), expected.data());
    CopyProgram(runs).run(from.data(), to.data());
    EXPECT_TRUE(to == expected) << bytes;
  }
}

TEST(CopyProgram, IsSmall) {
  const auto metadata = [](const std::vector<CopyRun>& runs) { return CopyProgram(runs).metadata_bytes(); };
  EXPECT_EQ(metadata({}), 0);
  EXPECT_EQ(metadata({{5, 5, 0, 0, 0, 1}}), 0);
  const std::int64_t contiguous = metadata({{0, 0, 100, 0, 0, 1}});
  EXPECT_EQ(metadata({{0, 7, 10, 0, 0, 1}, {10, 17, 30, 0, 0, 1}, {40, 47, 8, 8, 8, 9}}), contiguous);

  const std::int64_t strided = metadata({{0, 0, 8, 24, 8, 1000}});
  std::vector<CopyRun> words;
  for (std::int64_t i = 0; i < 1000; ++i) words.push_back({i * 24, i * 16, 8, 0, 0, 1});
  EXPECT_EQ(metadata(words), strided);
  words.back().from = 8;
  EXPECT_EQ(metadata(words), strided + 1000 * 4);
  words.back().from = std::int64_t{1} << 33;
  EXPECT_EQ(metadata(words), strided + 1000 * 8);
}

}  // namespace
}  // namespace laneway
