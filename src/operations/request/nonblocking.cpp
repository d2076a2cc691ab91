#include "operations/request/nonblocking.hpp"

#include "algorithms/planner/planner.hpp"
#include "runtime/carriers/messages/p2p.hpp"

namespace laneway {

namespace {

struct KeptOrder final : Attachment {
  std::shared_ptr<StartOrder> order;
};

}  // namespace

const std::shared_ptr<StartOrder>& start_order(Communicator& communicator) {
  std::shared_ptr<StartOrder>& order = communicator.attachment<KeptOrder>().order;
  if (!order || order->comm() != communicator.nonblocking_comm())
    order = std::make_shared<StartOrder>(communicator.nonblocking_comm(), communicator.nonblocking_tag());
  return order;
}

NonblockingExchange::NonblockingExchange(NonblockingParts parts)
    : parts_(std::move(parts)), ticket_(parts_.order->take_ticket()) {
  if (parts_.images) {
    parts_.buffers = parts_.images->images();
    parts_.images->fetch();
  }
  const BoundPlan& bound = *parts_.bound;
  plan_ = bound.has_bindings() ? bound.plan() : PlansByBuffers(bound.plan()).on(parts_.where.behind_host());
  begin();
}

void NonblockingExchange::begin() {
  if (may_start())
    run();
  else if (parts_.elements)
    parts_.elements->keep_types();
  // Later exchanges start when this one no longer holds the turn.
  const Helper helper = parts_.helper;
  const bool others_depend = executor_ == nullptr || holds_turn_;
  if (helper == Helper::thread_for_all || others_depend) employ(helper);
  if (others_depend || helper == Helper::thread_for_all)
    activity_.list(*this, progress_by(helper));
  else if (parts_.images || !executor_->independent())
    activity_.list(*this, Progress::in_calls);
  activity_.begin();
}

void NonblockingExchange::run() {
  const auto& [order, buffers, bound, where, images, elements, typed, helper] = parts_;
  const bool has_bindings = bound->has_bindings();
  try {
    P2PTransport transport(order->comm()->get(), order->tag(), elements.get());
    executor_ = has_bindings ? &bound->bind(buffers, where, transport).executor()
                             : &own_.emplace(plan_, buffers, where, transport, nullptr, bound->combiners());
    executor_->start();
  } catch (...) {
    if (has_bindings) bound->forget();
    order->end_turn();
    throw;
  }
  holds_turn_ = has_bindings || !executor_->starts_all_messages();
  if (!holds_turn_) order->end_turn();
}

const Plan& NonblockingExchange::plan() const {
  if (!parts_.typed) return *plan_;
  if (!plan_as_bytes_)
    plan_as_bytes_ = std::make_unique<const Plan>(plan_direct(parts_.order->comm()->rank(), describe(*parts_.typed)));
  return *plan_as_bytes_;
}

bool NonblockingExchange::progress() {
  if (executor_ == nullptr) {
    if (!may_start()) return false;
    run();
  }
  HostImages* const images = parts_.images.get();
  if (is_returning_) return images->complete();
  bool complete = true;  // also if it fails
  const auto end_turn = [&] {
    if (complete && std::exchange(holds_turn_, false)) parts_.order->end_turn();
  };
  try {
    complete = executor_->progress();
  } catch (...) {
    if (parts_.bound->has_bindings()) parts_.bound->forget();
    end_turn();
    throw;
  }
  end_turn();
  if (!complete || images == nullptr) return complete;
  images->put_back();
  is_returning_ = true;
  return images->complete();
}

}  // namespace laneway
