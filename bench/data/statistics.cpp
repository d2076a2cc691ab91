#include "data/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace laneway::bench {

double quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
}

double median(std::vector<double> samples) {
  return quantile(std::move(samples), 0.5);
}

Interval bootstrap_median(std::span<const double> samples) {
  constexpr int resamples = 2000;
  std::mt19937_64 random(20240229);
  std::vector<double> medians;
  std::vector<double> drawn(samples.size());
  for (int i = 0; i < resamples; ++i) {
    for (double& value : drawn) value = samples[random() % samples.size()];
    medians.push_back(median(drawn));
  }
  return {quantile(medians, 0.025), quantile(medians, 0.975)};
}

std::vector<double> paired_ratios(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) result.push_back(a[i] / b[i]);
  return result;
}

}  // namespace laneway::bench
