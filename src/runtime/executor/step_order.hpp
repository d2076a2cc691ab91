#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace laneway {

/// Which steps of a plan come after which, and how many of those before it each still waits for in this exchange.
class StepOrder {
 public:
  explicit StepOrder(const std::vector<Step>& steps);

  /// Whether no step depends on another.
  [[nodiscard]] bool empty() const { return next_.empty(); }
  /// Those that depend on it.
  [[nodiscard]] std::span<const int> after(int step) const {
    const auto s = static_cast<std::size_t>(step);
    return {next_.data() + begin_[s], next_.data() + begin_[s + 1]};
  }
  /// A new exchange begins.
  void restart() { std::copy(unmet_at_start_.begin(), unmet_at_start_.end(), unmet_.begin()); }
  /// Calls `ready` with each step for which this was the last that it waited for.
  template <class Ready>
  void complete(int step, Ready&& ready) {
    for (const int next : after(step))
      if (--unmet_[static_cast<std::size_t>(next)] == 0) ready(next);
  }
  [[nodiscard]] std::size_t metadata_bytes() const {
    return (unmet_at_start_.capacity() + unmet_.capacity() + begin_.capacity() + next_.capacity()) * sizeof(int);
  }

 private:
  std::vector<int> unmet_at_start_;  // of each step, how many it depends on
  std::vector<int> unmet_;
  std::vector<int> begin_;  // those after step s: next_[begin_[s] .. begin_[s + 1])
  std::vector<int> next_;
};

}  // namespace laneway
