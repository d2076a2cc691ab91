#pragma once

#include <span>
#include <vector>

#include "base/statistics.hpp"

namespace laneway::bench {

struct Interval {
  double low = 0;
  double high = 0;
};

/// 95% interval of the median by bootstrap (percentile method), the same every time for the same samples.
[[nodiscard]] Interval bootstrap_median(std::span<const double> samples);

/// a[i] / b[i]
[[nodiscard]] std::vector<double> paired_ratios(std::span<const double> a, std::span<const double> b);

}  // namespace laneway::bench
