#include "base/bytes/binned_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace laneway {
namespace {

__extension__ using Wide = __int128;

static_assert(sizeof(BinnedSum) == 32);

std::uint64_t bits(double number) {
  return std::bit_cast<std::uint64_t>(number);
}

BinnedSum sum_of(const std::vector<double>& numbers) {
  BinnedSum sum;
  for (const double number : numbers) sum.add(BinnedSum(number));
  return sum;
}

/// In parts of random lengths, which are then added in a random order.
BinnedSum sum_in_parts(std::vector<double> numbers, std::mt19937& random) {
  std::ranges::shuffle(numbers, random);
  std::vector<BinnedSum> parts(1 + random() % 7);
  for (const double number : numbers) parts[random() % parts.size()].add(BinnedSum(number));
  std::ranges::shuffle(parts, random);
  BinnedSum sum;
  for (const BinnedSum& part : parts) sum.add(part);
  return sum;
}

double random_number(std::mt19937& random, int exponents) {
  const double fraction =
      std::ldexp(static_cast<double>(random()), -32) + std::ldexp(static_cast<double>(random()), -64);
  const int exponent = static_cast<int>(random() % static_cast<unsigned>(2 * exponents + 1)) - exponents;
  return std::ldexp(random() % 2 == 0 ? fraction : -fraction, exponent);
}

TEST(BinnedSum, OneNumberIsItself) {
  std::mt19937 random(1);
  using Limits = std::numeric_limits<double>;
  std::vector<double> numbers{0.0,
                              -0.0,
                              1.0,
                              -1.0,
                              Limits::max(),
                              -Limits::max(),
                              Limits::min(),
                              Limits::denorm_min(),
                              -Limits::denorm_min(),
                              Limits::infinity(),
                              -Limits::infinity()};
  for (int n = 0; n < 10000; ++n) numbers.push_back(random_number(random, 1000));
  for (int exponent = -1074; exponent < 1024; ++exponent) numbers.push_back(std::ldexp(1.0, exponent));
  for (const double number : numbers) EXPECT_EQ(bits(BinnedSum(number).to_double()), bits(number)) << number;
  EXPECT_TRUE(std::isnan(BinnedSum(Limits::quiet_NaN()).to_double()));
}

TEST(BinnedSum, EveryOrderHasTheSameBits) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> numbers;
    const int exponents = 1 + static_cast<int>(random() % 300);
    for (std::size_t n = 1 + random() % 100; n > 0; --n) numbers.push_back(random_number(random, exponents));
    const double sum = sum_of(numbers).to_double();
    for (int order = 0; order < 10; ++order)
      ASSERT_EQ(bits(sum_in_parts(numbers, random).to_double()), bits(sum)) << "round " << round;
  }
}

/// Numbers whose sum is known in 128-bit integers.
TEST(BinnedSum, RoundsTheSumOnce) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    Wide all = 0;
    std::vector<double> numbers;
    for (std::size_t n = 1 + random() % 6; n > 0; --n) {
      // At most 53 bits, from bit 0 to bit 80: all of them count, wherever bins begin.
      const auto units = static_cast<std::int64_t>(random() >> (11 + random() % 50));
      const int shift = static_cast<int>(random() % 27);
      const std::int64_t signed_units = random() % 2 == 0 ? units : -units;
      numbers.push_back(std::ldexp(static_cast<double>(signed_units), shift));
      all += static_cast<Wide>(signed_units) << shift;
    }
    // To the nearest, ties to even, as the conversion of integers rounds.
    ASSERT_EQ(sum_of(numbers).to_double(), static_cast<double>(all));
    ASSERT_EQ(sum_of(numbers).to_float(), static_cast<float>(all));
  }
}

TEST(BinnedSum, NothingIsLostToCancellation) {
  EXPECT_EQ(sum_of({1e16, 1.0, -1e16}).to_double(), 1.0);
  EXPECT_EQ(sum_of({1.0, 0x1p-60, -1.0}).to_double(), 0x1p-60);
  EXPECT_EQ(sum_of({0x1p1023, 0x1p1023, -0x1p1023, -0x1p1023}).to_double(), 0.0);
}

TEST(BinnedSum, SpecialNumbers) {
  using Limits = std::numeric_limits<double>;
  const double infinity = Limits::infinity();
  EXPECT_EQ(sum_of({1.0, infinity}).to_double(), infinity);
  EXPECT_EQ(sum_of({-infinity, 1.0}).to_double(), -infinity);
  EXPECT_TRUE(std::isnan(sum_of({-infinity, infinity}).to_double()));
  EXPECT_TRUE(std::isnan(sum_of({1.0, Limits::quiet_NaN()}).to_double()));
  EXPECT_TRUE(std::isnan(sum_of({1.0, Limits::quiet_NaN()}).to_float()));
  EXPECT_EQ(bits(sum_of({-0.0, -0.0}).to_double()), bits(-0.0));
  EXPECT_EQ(bits(sum_of({-0.0, 0.0}).to_double()), bits(0.0));
  EXPECT_EQ(bits(sum_of({1.0, -1.0}).to_double()), bits(0.0));
  EXPECT_EQ(bits(BinnedSum().to_double()), bits(0.0));
  EXPECT_EQ(sum_of({Limits::max(), Limits::max()}).to_double(), infinity);
  EXPECT_EQ(sum_of({1e300}).to_float(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(sum_of({1e-300}).to_float(), 0.0F);
  EXPECT_EQ(sum_of({Limits::denorm_min(), Limits::denorm_min()}).to_double(), 2 * Limits::denorm_min());
}

/// Numbers as near as 2^23 of the greatest are exact in bins of 64 bits.
TEST(BinnedSum, ManyNumbers) {
  BinnedSum sum;
  const BinnedSum number(0x1.fffffffffffffp39);
  for (int n = 0; n < 1 << 20; ++n) sum.add(number);
  EXPECT_EQ(sum.to_double(), 0x1.fffffffffffffp59);
}

}  // namespace
}  // namespace laneway
