#pragma once

#include <span>
#include <vector>

namespace laneway::bench {

/// The value below which the fraction `q` of the samples lies, interpolated between neighbours. Not for no samples.
[[nodiscard]] double quantile(std::vector<double> samples, double q);
[[nodiscard]] double median(std::vector<double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

/// 95% interval of the median by bootstrap (percentile method), the same every time for the same samples.
[[nodiscard]] Interval bootstrap_median(std::span<const double> samples);

/// a[i] / b[i]
[[nodiscard]] std::vector<double> paired_ratios(std::span<const double> a, std::span<const double> b);

}  // namespace laneway::bench
