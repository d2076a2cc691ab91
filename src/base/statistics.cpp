#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace laneway {

double quantile(std::vector<double> samples, double q) {
  const double position = q * static_cast<double>(samples.size() - 1);
  const double whole = std::floor(position);
  const auto below = samples.begin() + static_cast<std::ptrdiff_t>(whole);
  std::nth_element(samples.begin(), below, samples.end());
  if (below + 1 == samples.end()) return *below;
  return *below + (position - whole) * (*std::min_element(below + 1, samples.end()) - *below);
}

double median(std::vector<double> samples) {
  return quantile(std::move(samples), 0.5);
}

std::vector<double> resampled_medians(std::span<const double> samples, std::size_t count, std::mt19937_64& random) {
  std::vector<double> medians(count);
  std::vector<double> drawn(samples.size());
  for (double& each : medians) {
    for (double& value : drawn) value = samples[random() % samples.size()];
    each = median(drawn);
  }
  return medians;
}

}  // namespace laneway
