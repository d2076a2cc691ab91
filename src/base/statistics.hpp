#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace laneway {

/// The value below which the fraction `q` of the samples lies, interpolated between neighbours. Not for no samples.
[[nodiscard]] double quantile(std::vector<double> samples, double q);
[[nodiscard]] double median(std::vector<double> samples);

/// Medians that the samples might as well have had (bootstrap): of `count` resamples, drawn with replacement.
[[nodiscard]] std::vector<double> resampled_medians(std::span<const double> samples, std::size_t count,
                                                    std::mt19937_64& random);

}  // namespace laneway
