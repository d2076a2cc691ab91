#include "base/bytes/binned_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace laneway {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr int width = 40;             // of a bin, in bits
constexpr int lowest_bit = -27 * 40;  // the exponent of bin 0's lowest bit, below that of the least double, 2^-1074
constexpr int digits = std::numeric_limits<double>::digits;
constexpr int least = std::numeric_limits<double>::min_exponent - digits;  // the exponent of the least double
constexpr int most_exponent = 2047;                                        // as doubles have it: infinity, or NaN
constexpr std::int64_t bin_mask = (std::int64_t{1} << width) - 1;

int bits_of(Wide number) {
  const auto high = static_cast<std::uint64_t>(number >> 64);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(number)));
}

/// Every bin but the first within 0 and 2^40.
void carry(std::array<std::int64_t, 3>& sums) {
  for (std::size_t bin = sums.size() - 1; bin > 0; --bin) {
    sums[bin - 1] += sums[bin] >> width;
    sums[bin] &= bin_mask;
  }
}

/// To the nearest multiple of 2^drop, ties to even; in units of that.
std::uint64_t round_off(Wide number, int drop) {
  if (drop <= 0) return static_cast<std::uint64_t>(number);
  if (drop > 127) return 0;  // number has fewer bits
  const Wide half = Wide{1} << (drop - 1);
  const Wide rest = number & (2 * half - 1);
  const auto kept = static_cast<std::uint64_t>(number >> drop);
  return kept + (rest > half || (rest == half && kept % 2 == 1) ? 1 : 0);
}

/// As std::ldexp, which takes longer. `number`: an integer of at most 2^53.
double scaled(double number, int exponent) {
  if (exponent < std::numeric_limits<double>::min_exponent || exponent > 900) return std::ldexp(number, exponent);
  constexpr int bias = most_exponent / 2;
  return number * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + bias) << (digits - 1));
}

}  // namespace

BinnedSum::BinnedSum(double number) : special_(any_number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  const bool is_negative = bits >> 63 != 0;
  const auto exponent = static_cast<int>(bits >> (digits - 1)) & most_exponent;
  std::uint64_t units = bits & ((std::uint64_t{1} << (digits - 1)) - 1);
  if (exponent == most_exponent) {
    special_ |= positive_zero | (units != 0 ? nan : is_negative ? negative_infinity : infinity);
    return;
  }
  if (bits << 1 == 0) {
    if (!is_negative) special_ |= positive_zero;
    return;
  }
  special_ |= positive_zero;
  if (exponent != 0) units |= std::uint64_t{1} << (digits - 1);
  const int place = std::max(exponent, 1) - 1 + least - lowest_bit;  // of the lowest unit, in bits
  const int shift = place % width;
  std::array<std::uint64_t, bins> parts = {shift > 2 * width - digits ? units >> (2 * width - shift) : 0,
                                           (units >> (width - shift)) & bin_mask, (units << shift) & bin_mask};
  top_ = place / width + 2;
  for (; parts[0] == 0; --top_) parts = {parts[1], parts[2], 0};
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const auto part = static_cast<std::int64_t>(parts[bin]);
    sums_[bin] = is_negative ? -part : part;
  }
}

void BinnedSum::add(const BinnedSum& other) {
  BinnedSum lower = other;
  if (lower.top_ > top_) std::swap(lower, *this);
  const auto down = static_cast<std::size_t>(top_ - lower.top_);
  for (std::size_t bin = down; bin < sums_.size(); ++bin) sums_[bin] += lower.sums_[bin - down];
  special_ |= lower.special_;
}

double BinnedSum::rounded(int kept, int lowest) const {
  if ((special_ & nan) != 0 || (special_ & (infinity | negative_infinity)) == (infinity | negative_infinity))
    return std::numeric_limits<double>::quiet_NaN();
  if ((special_ & infinity) != 0) return std::numeric_limits<double>::infinity();
  if ((special_ & negative_infinity) != 0) return -std::numeric_limits<double>::infinity();
  std::array<std::int64_t, bins> sums = sums_;
  carry(sums);
  const bool is_negative = sums.front() < 0;
  if (is_negative) {
    for (std::size_t bin = 0; bin < sums.size(); ++bin) sums[bin] = -sums_[bin];
    carry(sums);
  }
  const auto [high, middle, low] = std::array{Wide(sums[0]), Wide(sums[1]), Wide(sums[2])};
  // Of a number too long, what is below the last bit that could matter becomes one bit.
  const bool is_long = bits_of(high) > 47;
  const Wide all =
      is_long ? ((high << width | middle) << 1) | (low != 0 ? 1 : 0) : (high << 2 * width) | (middle << width) | low;
  if (all == 0) return (special_ & (any_number | positive_zero)) == any_number ? -0.0 : 0.0;
  const int unit = lowest_bit + (top_ - (is_long ? 1 : 2)) * width - (is_long ? 1 : 0);
  const int drop = std::max({bits_of(all) - kept, lowest - unit, 0});
  const double magnitude = scaled(static_cast<double>(round_off(all, drop)), unit + drop);
  return is_negative ? -magnitude : magnitude;
}

double BinnedSum::to_double() const {
  return rounded(digits, least);
}

float BinnedSum::to_float() const {
  using Limits = std::numeric_limits<float>;
  const double sum = rounded(Limits::digits, Limits::min_exponent - Limits::digits);
  if (std::abs(sum) <= static_cast<double>(Limits::max())) return static_cast<float>(sum);
  return std::isnan(sum) ? Limits::quiet_NaN() : sum > 0 ? Limits::infinity() : -Limits::infinity();
}

}  // namespace laneway
