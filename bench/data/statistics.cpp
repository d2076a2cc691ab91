#include "data/statistics.hpp"

#include <algorithm>

namespace laneway::bench {

Interval bootstrap_median(std::span<const double> samples) {
  std::mt19937_64 random(20240229);
  const std::vector<double> medians = resampled_medians(samples, 2000, random);
  return {quantile(medians, 0.025), quantile(medians, 0.975)};
}

std::vector<double> paired_ratios(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) result.push_back(a[i] / b[i]);
  return result;
}

}  // namespace laneway::bench
