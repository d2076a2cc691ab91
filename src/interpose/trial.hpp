#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/mix.hpp"

namespace laneway::interpose {

/// Which of two ways to run an operation takes a program less time, found out while it runs. Calls go one way and the
/// other in turns; what is timed is from a call to the next one, since work for others, or on a core that ranks share,
/// costs time outside the operation, too.
class Trial {
 public:
  enum class Way : std::uint8_t { mpi, plan };

  /// `calls` of each way. Operations with other seeds change their ways at other times.
  Trial(std::int64_t calls, std::uint64_t seed) : calls_(calls), goal_(std::min(calls, first_calls)), seed_(seed) {}

  /// A call begins, `seconds` after some time in the past. Returns whether it is time to compare: where a difference is
  /// clear after the first few calls of each way, the rest can be spared.
  [[nodiscard]] bool over(double seconds) {
    if (next_ > 0) intervals_[index(way_of(next_ - 1))].push_back(seconds - begin_);
    begin_ = seconds;
    return next_ == 2 * goal_;
  }
  /// What was found is not clear. Returns whether there are calls left to find out more.
  [[nodiscard]] bool go_on() { return std::exchange(goal_, calls_) < calls_; }
  /// Which way it goes.
  [[nodiscard]] Way take() { return way_of(next_++); }

  /// Seconds a call, without the eighth of all intervals that were longest: they span other parts of the program.
  [[nodiscard]] double seconds(Way way) const {
    std::vector<double> sorted = intervals_[index(way)];
    std::sort(sorted.begin(), sorted.end());
    sorted.resize(sorted.size() - sorted.size() / 8);
    return sorted.empty() ? 0 : std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  }

 private:
  static constexpr std::int64_t calls_a_turn = 4;
  static constexpr std::int64_t first_calls = 2 * calls_a_turn;

  static std::size_t index(Way way) { return static_cast<std::size_t>(way); }
  /// Turns come in pairs, one of each way, in an order drawn by the seed; the last ones may be shorter.
  [[nodiscard]] Way way_of(std::int64_t call) const {
    const std::int64_t pair = call / (2 * calls_a_turn);
    const std::int64_t in_pair = call % (2 * calls_a_turn);
    const std::int64_t turn = std::min(calls_a_turn, calls_ - pair * calls_a_turn);
    const bool plan_first = (mix(seed_ ^ mix(static_cast<std::uint64_t>(pair))) & 1) != 0;
    return (in_pair < turn) == plan_first ? Way::plan : Way::mpi;
  }

  std::int64_t calls_;
  std::int64_t goal_;
  std::uint64_t seed_;
  std::int64_t next_ = 0;
  double begin_ = 0;
  std::vector<double> intervals_[2];
};

}  // namespace laneway::interpose
