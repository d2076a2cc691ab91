#include "mpi/nonblocking.hpp"

#include <algorithm>

#include "transport/p2p.hpp"

namespace laneway {

namespace {

/// Whether every message has been started when Executor::start returns.
bool starts_all_messages(const Executor& executor) {
  if (executor.uses_device()) return false;
  const Plan& plan = executor.plan();
  const auto runs_in_start = [&](int s) {
    const Step& step = plan.steps[static_cast<std::size_t>(s)];
    return step.kind == StepKind::copy && step.after.empty();
  };
  return std::all_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return step.kind == StepKind::copy || std::all_of(step.after.begin(), step.after.end(), runs_in_start);
  });
}

}  // namespace

NonblockingExchange::NonblockingExchange(std::shared_ptr<StartOrder> order, std::shared_ptr<const Plan> plan,
                                         Buffers buffers, const BufferMemory& where, Progress progress)
    : order_(std::move(order)),
      ticket_(order_->take_ticket()),
      plan_(std::move(plan)),
      buffers_(buffers),
      where_(where) {
  if (order_->is_turn_of(ticket_)) start();
  if (progress == Progress::by_thread || !executor_ || !executor_->independent()) activity_.list(*this, progress);
  activity_.begin();
}

void NonblockingExchange::start() {
  try {
    P2PTransport transport(order_->comm()->get(), order_->tag());
    executor_.emplace(plan_, buffers_, where_, transport, nullptr);
    executor_->start();
  } catch (...) {
    order_->end_turn();
    throw;
  }
  holds_turn_ = !starts_all_messages(*executor_);
  if (!holds_turn_) order_->end_turn();
}

bool NonblockingExchange::progress() {
  if (!executor_) {
    if (!order_->is_turn_of(ticket_)) return false;
    start();
  }
  bool complete = true;  // also if it fails
  const auto end_turn = [&] {
    if (complete && std::exchange(holds_turn_, false)) order_->end_turn();
  };
  try {
    complete = executor_->progress();
  } catch (...) {
    end_turn();
    throw;
  }
  end_turn();
  return complete;
}

}  // namespace laneway
