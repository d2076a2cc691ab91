#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "operations/request/work.hpp"

namespace laneway {

/// The arrivals of an exchange one after another, each once, in the order in which they are found.
class ArrivalOrder {
 public:
  explicit ArrivalOrder(int number) : events_(static_cast<std::size_t>(number)) {
    std::iota(events_.begin(), events_.end(), 0);
  }

  /// As Work::next_arrival. `exchange`: the number of the one that was started last.
  template <class Reached>
  [[nodiscard]] int next(std::uint64_t exchange, Reached&& reached) {
    if (std::exchange(exchange_, exchange) != exchange) left_ = events_.size();
    for (std::size_t i = 0; i < left_; ++i) {
      if (!reached(events_[i])) continue;
      std::swap(events_[i], events_[--left_]);
      return events_[left_];
    }
    return left_ == 0 ? Work::none_left : Work::none_yet;
  }
  /// The numbers of exchanges begin again.
  void restart() { exchange_ = 0; }

 private:
  std::vector<int> events_;  // the first `left_` have not been given
  std::size_t left_ = 0;
  std::uint64_t exchange_ = 0;
};

}  // namespace laneway
