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
      here_(bound_->look_at(buffers)),
      helper_(helper),
      plan_(bound_->has_bindings() ? bound_->plan() : PlansByBuffers(bound_->plan()).on(here_.where.behind_host())) {
  begin();
}

void NonblockingExchange::begin() {
  if (here_.images) here_.images->fetch();
  ticket_ = order_->next_ticket();
  if (!may_start() && bound_->ready().elements) bound_->ready().elements->keep_types();
  order_->take_ticket();
  if (may_start()) run();
  // Later exchanges start when this one no longer holds the turn.
  const bool others_depend = executor_ == nullptr || holds_turn_;
  const bool is_for_all = helper_ == Helper::thread_for_all || others_depend;
  if (is_for_all) employ(helper_);
  if (is_for_all || here_.images || !executor_->independent())
    activity_.list(*this, is_for_all ? progress_by(helper_) : Progress::in_calls);
  activity_.begin();
}

void NonblockingExchange::run() {
  const bool has_bindings = bound_->has_bindings();
  const ReadyPlan& ready = bound_->ready();
  try {
    P2PTransport transport(order_->comm()->get(), order_->tag(), ready.elements.get());
    executor_ = has_bindings ? &bound_->bind(here_.buffers, here_.where, transport).executor()
                             : &own_.emplace(plan_, here_.buffers, here_.where, transport, nullptr, ready.combiners);
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
  HostImages* const images = here_.images.get();
  if (is_returning_) return images->complete();
  if (!executor_->progress()) return false;
  end_turn();
  if (images == nullptr) return true;
  images->put_back();
  is_returning_ = true;
  return images->complete();
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
