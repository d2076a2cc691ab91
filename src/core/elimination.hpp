#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/expected_exchanges.hpp"

namespace laneway {

/// Ways to do a thing that are timed in rounds. Who falls far behind is out, for its turns would cost more than they
/// tell. Ranks that give equal seconds come to equal ends.
class Elimination {
 public:
  explicit Elimination(std::size_t ways) : seconds_(ways, std::numeric_limits<double>::infinity()), in_(ways, true) {}

  [[nodiscard]] std::size_t ways() const { return in_.size(); }
  [[nodiscard]] bool is_in(std::size_t way) const { return in_[way]; }
  /// The least of all rounds; infinite without any.
  [[nodiscard]] double seconds(std::size_t way) const { return seconds_[way]; }
  /// Of all ways.
  [[nodiscard]] double least() const { return *std::ranges::min_element(seconds_); }

  /// `seconds`: by way, of those that are in. Out is who has never taken less than `most` times the least.
  void end_round(std::span<const double> seconds, double most) {
    for (std::size_t way = 0; way < ways(); ++way)
      if (in_[way]) seconds_[way] = std::min(seconds_[way], seconds[way]);
    const double limit = most * least();
    for (std::size_t way = 0; way < ways(); ++way) in_[way] = in_[way] && seconds_[way] <= limit;
  }

 private:
  std::vector<double> seconds_;  // by way
  std::vector<bool> in_;
};

/// Calls after which a trial of ways to run them pays. It costs some ten long calls, so that after as many it at most
/// doubles what has been spent. Short calls are timed many at a time: they must be as many as an unknown program is
/// expected to make. `bytes`: of the largest buffer.
constexpr double calls_before_trial(std::int64_t bytes) {
  constexpr double fewest = 8;
  constexpr double short_bytes = 65536;
  const double most = number_of_exchanges(exchanges_of_requests);
  if (static_cast<double>(bytes) <= short_bytes) return most;
  return std::max(fewest, most * short_bytes / static_cast<double>(bytes));
}

}  // namespace laneway
