#include "operate/nonblocking.hpp"

#include "carriers/messages/p2p.hpp"

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

Executor& BoundPlan::bind(Buffers buffers, Transport& transport) {
  Binding* const known = bindings_.find([&](const Binding& binding) {
    return binding.buffers.send == buffers.send && binding.buffers.receive == buffers.receive;
  });
  const BufferMemory where = glance_at(buffers, *plan(), device_use_);
  const bool usable = known != nullptr && !known->executor->uses_device() && !where.on_device().any();
  Binding& binding = known != nullptr ? *known : bindings_.add({});
  if (!usable) {
    binding.executor.reset();
    binding.executor =
        std::make_unique<Executor>(plans_.on(where.behind_host()), buffers, where, transport, memory_, combiners_);
    binding.buffers = buffers;
  }
  return *binding.executor;
}

NonblockingExchange::NonblockingExchange(std::shared_ptr<StartOrder> order, std::shared_ptr<const Plan> plan,
                                         Buffers buffers, const BufferMemory& where,
                                         std::shared_ptr<MessageElements> elements, Helper helper, Combiners combiners)
    : order_(std::move(order)),
      ticket_(order_->take_ticket()),
      plan_(PlansByBuffers(std::move(plan)).on(where.behind_host())),
      elements_(std::move(elements)),
      buffers_(buffers),
      where_(where),
      combiners_(std::move(combiners)) {
  begin(helper);
}

NonblockingExchange::NonblockingExchange(std::shared_ptr<StartOrder> order, std::shared_ptr<const Plan> plan,
                                         std::unique_ptr<HostImages> images, Helper helper, Combiners combiners)
    : order_(std::move(order)),
      ticket_(order_->take_ticket()),
      plan_(std::move(plan)),
      buffers_(images->images()),
      combiners_(std::move(combiners)),
      images_(std::move(images)) {
  images_->fetch();
  begin(helper);
}

NonblockingExchange::NonblockingExchange(std::shared_ptr<StartOrder> order, std::shared_ptr<BoundPlan> bound,
                                         Buffers buffers, Helper helper, std::unique_ptr<HostImages> images)
    : order_(std::move(order)),
      ticket_(order_->take_ticket()),
      bound_(std::move(bound)),
      buffers_(images ? images->images() : buffers),
      images_(std::move(images)) {
  if (images_) images_->fetch();
  begin(helper);
}

void NonblockingExchange::begin(Helper helper) {
  if (may_start())
    start();
  else if (elements_)
    elements_->keep_types();
  // Later exchanges start when this one no longer holds the turn.
  const bool others_depend = executor_ == nullptr || holds_turn_;
  if (helper == Helper::thread_for_all || others_depend) employ(helper);
  if (others_depend || helper == Helper::thread_for_all)
    activity_.list(*this, progress_by(helper));
  else if (images_ || !executor_->independent())
    activity_.list(*this, Progress::in_calls);
  activity_.begin();
}

void NonblockingExchange::start() {
  try {
    P2PTransport transport(order_->comm()->get(), order_->tag(), elements_.get());
    executor_ = bound_ ? &bound_->bind(buffers_, transport)
                       : &own_.emplace(plan_, buffers_, where_, transport, nullptr, combiners_);
    executor_->start();
  } catch (...) {
    if (bound_) bound_->forget();
    order_->end_turn();
    throw;
  }
  holds_turn_ = bound_ || !executor_->starts_all_messages();
  if (!holds_turn_) order_->end_turn();
}

bool NonblockingExchange::progress() {
  if (executor_ == nullptr) {
    if (!may_start()) return false;
    start();
  }
  if (is_returning_) return images_->complete();
  bool complete = true;  // also if it fails
  const auto end_turn = [&] {
    if (complete && std::exchange(holds_turn_, false)) order_->end_turn();
  };
  try {
    complete = executor_->progress();
  } catch (...) {
    if (bound_) bound_->forget();
    end_turn();
    throw;
  }
  end_turn();
  if (!complete || !images_) return complete;
  images_->put_back();
  is_returning_ = true;
  return images_->complete();
}

}  // namespace laneway
