#pragma once

#include <array>
#include <cstdint>

namespace laneway {

/// A sum of floating-point numbers that has the same bits in whatever order, and in whatever parts, they are added.
/// After the binned sums of J. Demmel and H. D. Nguyen, "Parallel Reproducible Summation" (IEEE Transactions on
/// Computers 64(7), 2015): the exponents of doubles fall into fixed bins of 40 bits, and a sum keeps the part of each
/// number that is in its highest bins. Here bins are integers, so that nothing in them is rounded: of each number all
/// bits count that are no more than 80 below the highest bin, which a number's largest bit names.
///
/// Plain memory of 32 bytes: at most 2^23 numbers or sums may be added.
class BinnedSum {
 public:
  BinnedSum() = default;
  explicit BinnedSum(double number);

  void add(const BinnedSum& other);
  /// Rounded once, to the nearest, ties to even. The sum of nothing but -0 is -0; NaN is one NaN.
  /// @{
  [[nodiscard]] double to_double() const;
  [[nodiscard]] float to_float() const;
  /// @}

 private:
  static constexpr int bins = 3;
  enum Special : std::uint32_t { nan = 1, infinity = 2, negative_infinity = 4, positive_zero = 8, any_number = 16 };

  /// With `kept` bits, of which the lowest has at least the exponent `lowest`.
  [[nodiscard]] double rounded(int kept, int lowest) const;

  std::array<std::int64_t, bins> sums_{};  // the highest bin first
  std::int32_t top_ = 0;                   // the number of that bin
  std::uint32_t special_ = 0;
};

}  // namespace laneway
