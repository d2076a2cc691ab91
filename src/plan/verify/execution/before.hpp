#pragma once

#include <cstdint>
#include <vector>

#include "plan/verify/execution/timeline.hpp"

namespace laneway::verification {

/// Answers whether one step of a plan completes before another begins, by dependencies alone. Fast for questions that
/// come in ascending order of (`later`, `earlier`).
class Order {
 public:
  explicit Order(const Plan& plan) : plan_(plan), mark_(plan.steps.size(), -1) {}
  [[nodiscard]] bool ordered(int earlier, int later);

 private:
  const Plan& plan_;
  std::vector<int> mark_;  // the last step whose ancestors were searched and found to include this one
  std::vector<int> stack_;
  int searched_ = -1;
  int floor_ = 0;
};

/// Answers whether a point of one exchange is over before another of any rank and exchange begins, in all orders:
/// because a step waits for another, for a word that another rank raises, or for a message, or because a rank completes
/// an exchange before it starts the next.
class Before {
 public:
  Before(const Program& program, int exchanges);

  /// Of points: the earlier one may not be of a later exchange.
  [[nodiscard]] bool operator()(int earlier, int earlier_exchange, int later, int later_exchange) const;
  [[nodiscard]] int exchanges() const { return nodes_.exchanges(); }

 private:
  using Clock = std::uint8_t;

  void group_ranks();
  void set_clock(int node);
  void add_clock(int node, Rank rank, Clock* clock) const;
  [[nodiscard]] std::size_t clock_at(int node) const;
  template <class F>
  void for_each_before(int node, F&& f) const;

  const Program& program_;
  const Nodes nodes_;
  std::vector<int> position_;  // of nodes, in an order in which they can begin
  // Ranks that use each other's memory form groups. By node of a rank in one: the exchanges that each rank of the group
  // has completed before.
  std::vector<Rank> group_;
  std::vector<int> index_;  // of a rank in its group
  std::vector<int> group_size_;
  std::vector<std::size_t> clock_begin_;  // by point
  std::vector<Clock> clocks_;
  mutable std::vector<int> mark_;
  mutable std::vector<int> queue_;
  mutable int search_ = 0;
};

}  // namespace laneway::verification
