#include "mpi/nonblocking.hpp"

#include <algorithm>

#include "core/relax.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

/// Whether every message has been started when Executor::start returns.
bool starts_all_messages(const Plan& plan) {
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
                                         Buffers buffers)
    : order_(std::move(order)), ticket_(order_->take_ticket()), plan_(std::move(plan)), buffers_(buffers) {
  if (order_->is_turn_of(ticket_)) start();
  if (executor_ && executor_->independent()) return;
  slot_ = ProgressSlot::acquire(*this);
  slot_->activate();
}

NonblockingExchange::~NonblockingExchange() {
  if (slot_ != nullptr) slot_->release();
}

void NonblockingExchange::start() {
  try {
    P2PTransport transport(order_->comm()->get(), order_->tag());
    executor_.emplace(plan_, buffers_, transport);
    executor_->start();
  } catch (...) {
    order_->end_turn();
    throw;
  }
  holds_turn_ = !starts_all_messages(*plan_);
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

bool NonblockingExchange::test() {
  if (!active_) return true;
  active_ = false;  // also if it fails
  if (slot_ == nullptr) progress_all();
  active_ = slot_ != nullptr ? !slot_->test() : !progress();
  return !active_;
}

bool NonblockingExchange::done() {
  if (!active_ || slot_ != nullptr) return !active_ || slot_->done();
  progress_all();
  active_ = false;  // if it fails
  const bool complete = progress();
  active_ = true;
  return complete;
}

void NonblockingExchange::wait() {
  if (active_ && slot_ == nullptr && !any_active()) {
    active_ = false;
    return executor_->wait();
  }
  for (int turns = 0; !test(); relax(turns)) {
  }
}

}  // namespace laneway
