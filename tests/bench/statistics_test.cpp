#include "data/statistics.hpp"

#include <gtest/gtest.h>

namespace laneway::bench {
namespace {

TEST(Statistics, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30}, 0.9), 28);
  EXPECT_DOUBLE_EQ(quantile({5}, 0.9), 5);
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
