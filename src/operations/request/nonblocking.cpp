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

NonblockingExchange::NonblockingExchange(std::shared_ptr<StartOrder> order, std::shared_ptr<BoundPlan> bound,
                                         Buffers buffers, Helper helper)
    : order_(std::move(order)),
      bound_(std::move(bound)),
      buffers_(buffers),
      where_(bound_->look_at(buffers)),
      helper_(helper),
      plan_(bound_->has_bindings() ? bound_->plan() : bound_->plan_on(where_)) {
  begin();
}

NonblockingExchange::~NonblockingExchange() {
  if (taken_.exchange && is_complete_) bound_->give_back(std::move(taken_));
}

void NonblockingExchange::begin() {
  ticket_ = order_->next_ticket();
  if (!may_start() && bound_->ready().elements) bound_->ready().elements->keep_types();
  order_->take_ticket();
  if (may_start()) run();
  // Later exchanges start when this one no longer holds the turn.
  const bool others_depend = executor_ == nullptr || holds_turn_;
  const bool is_for_all = helper_ == Helper::thread_for_all || others_depend;
  if (is_for_all) employ(helper_);
  if (is_for_all || !executor_->independent())
    activity_.list(*this, is_for_all ? progress_by(helper_) : Progress::in_calls);
  activity_.begin();
}

void NonblockingExchange::run() {
  const bool has_bindings = bound_->has_bindings();
  const ReadyPlan& ready = bound_->ready();
  try {
    P2PTransport transport(order_->comm()->get(), order_->tag(), ready.elements.get());
    if (!has_bindings && where_.on_device().any())
      taken_ = bound_->take(buffers_, where_, order_->comm(), order_->tag());
    executor_ = taken_.exchange ? &taken_.exchange->executor()
                : has_bindings  ? &bound_->bind(buffers_, where_, transport).executor()
                                : &own_.emplace(plan_, buffers_, where_, transport, nullptr, ready.combiners);
    executor_->start();
  } catch (...) {
    if (has_bindings) bound_->forget();
    order_->end_turn();
    throw;
  }
  holds_turn_ = true;
  if (!has_bindings && executor_->starts_all_messages()) end_turn();
}

const Plan& NonblockingExchange::plan() const {
  const std::shared_ptr<const TypedPattern>& typed = bound_->ready().typed;
  if (!typed) return *plan_;
  if (!plan_as_bytes_)
    plan_as_bytes_ = std::make_unique<const Plan>(plan_direct(order_->comm()->rank(), describe(*typed)));
  return *plan_as_bytes_;
}

bool NonblockingExchange::advance() {
  if (executor_ == nullptr) {
    if (!may_start()) return false;
    run();
  }
  is_complete_ = executor_->progress();
  if (is_complete_) end_turn();
  return is_complete_;
}

bool NonblockingExchange::progress() {
  try {
    return advance();
  } catch (...) {
    if (bound_->has_bindings()) bound_->forget();
    end_turn();
    throw;
  }
}

std::unique_ptr<Request> start_request(const Communicator& communicator, const std::shared_ptr<StartOrder>& order,
                                       std::shared_ptr<BoundPlan> bound, Buffers buffers, Helper helper,
                                       Reasons reasons) {
  auto work = std::make_unique<NonblockingExchange>(order, std::move(bound), buffers, helper);
  return std::make_unique<Request>(order->comm(), communicator.error_handler(), std::move(work), std::move(reasons),
                                   Request::Life::nonblocking);
}

}  // namespace laneway
