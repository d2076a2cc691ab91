#include "plan/device_aware.hpp"

#include <algorithm>
#include <utility>

namespace laneway {

Plan device_aware(Plan plan, const OnDevice& buffers) {
  const auto is_message = [](const Step& step) { return step.kind == StepKind::send || step.kind == StepKind::receive; };
  const auto touches = [&](const Step& step) {
    return is_message(step) && ((buffers.send && step.span.buffer == Buffer::send) ||
                                (buffers.receive && step.span.buffer == Buffer::receive));
  };
  if (std::none_of(plan.steps.begin(), plan.steps.end(), touches)) return plan;
  for (Step& step : plan.steps) {
    for (int& before : step.after) ++before;
    // All of them, since those of one channel must begin in the order of the plan.
    if (is_message(step)) step.after.insert(step.after.begin(), 0);
  }
  plan.steps.insert(plan.steps.begin(), Step{});
  return plan;
}

}  // namespace laneway
