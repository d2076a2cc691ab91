#include "runtime/executor/step_order.hpp"

namespace laneway {

StepOrder::StepOrder(const std::vector<Step>& steps) : begin_(steps.size() + 1) {
  unmet_at_start_.reserve(steps.size());
  for (const Step& step : steps) {
    unmet_at_start_.push_back(static_cast<int>(step.after.size()));
    for (int before : step.after) ++begin_[static_cast<std::size_t>(before) + 1];
  }
  unmet_ = unmet_at_start_;
  for (std::size_t s = 0; s < steps.size(); ++s) begin_[s + 1] += begin_[s];
  next_.resize(static_cast<std::size_t>(begin_.back()));
  std::vector<int> fill(begin_.begin(), begin_.end() - 1);
  for (std::size_t s = 0; s < steps.size(); ++s)
    for (int before : steps[s].after)
      next_[static_cast<std::size_t>(fill[static_cast<std::size_t>(before)]++)] = static_cast<int>(s);
}

}  // namespace laneway
