#include "data/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace laneway::bench {
namespace {

TEST(Statistics, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30}, 0.9), 28);
  EXPECT_DOUBLE_EQ(quantile({5}, 0.9), 5);
}

TEST(Statistics, QuantilesAreThoseOfSortedSamples) {
  std::mt19937_64 random(1);
  for (std::size_t count = 1; count < 40; ++count) {
    std::vector<double> samples(count);
    for (double& value : samples) value = static_cast<double>(random() % 30);
    std::vector<double> sorted = samples;
    std::ranges::sort(sorted);
    for (const double q : {0.0, 0.025, 0.5, 0.9, 1.0}) {
      const double position = q * static_cast<double>(count - 1);
      const double below = sorted[static_cast<std::size_t>(std::floor(position))];
      const double above = sorted[static_cast<std::size_t>(std::ceil(position))];
      EXPECT_DOUBLE_EQ(quantile(samples, q), std::lerp(below, above, position - std::floor(position)));
    }
  }
}

/// The median of five that are drawn is at most the k-th of the samples where three or more are.
TEST(Statistics, ResampledMediansAreDistributedAsDrawn) {
  std::mt19937_64 random(1);
  constexpr std::size_t draws = 20000;
  const std::vector<double> samples = {5, 1, 4, 2, 3};
  const std::vector<double> medians = resampled_medians(samples, draws, random);
  ASSERT_EQ(medians.size(), draws);
  for (int k = 1; k <= 5; ++k) {
    const double p = k / 5.0;
    const double expected = 10 * std::pow(p, 3) * std::pow(1 - p, 2) + 5 * std::pow(p, 4) * (1 - p) + std::pow(p, 5);
    const auto smaller = std::ranges::count_if(medians, [&](double value) { return value <= k; });
    EXPECT_NEAR(static_cast<double>(smaller) / draws, expected, 0.015);
  }
}

TEST(Statistics, BootstrapSurroundsTheMedianAndRepeats) {
  const std::vector<double> samples = {1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 3.0, 1.0, 1.01};
  const Interval interval = bootstrap_median(samples);
  EXPECT_LE(interval.low, median(samples));
  EXPECT_GE(interval.high, median(samples));
  EXPECT_LT(interval.high, 1.5);
  const Interval again = bootstrap_median(samples);
  EXPECT_EQ(interval.low, again.low);
  EXPECT_EQ(interval.high, again.high);
}

TEST(Statistics, RatiosArePaired) {
  const std::vector<double> a = {2, 9};
  const std::vector<double> b = {1, 3};
  EXPECT_EQ(paired_ratios(a, b), (std::vector<double>{2, 3}));
}

}  // namespace
}  // namespace laneway::bench
