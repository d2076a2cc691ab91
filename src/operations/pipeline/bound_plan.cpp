#include "operations/pipeline/bound_plan.hpp"

#include <algorithm>
#include <mutex>

#include "runtime/carriers/messages/p2p.hpp"

namespace laneway {

namespace {

/// Whether what is bound to the one may go on with the other: of devices, the same allocation.
bool is_same(const MemoryInfo& a, const MemoryInfo& b) {
  return a.kind == b.kind && a.plugin == b.plugin &&
         (a.host_may_touch() || (a.buffer_id != 0 && a.buffer_id == b.buffer_id));
}
bool is_same(const BufferMemory& a, const BufferMemory& b) {
  return is_same(a.send, b.send) && is_same(a.receive, b.receive);
}

}  // namespace

std::shared_ptr<const Plan> BoundPlan::plan_on(const BufferMemory& where) {
  const std::lock_guard lock(in_use_);
  return plans_.on(where.behind_host());
}

std::unique_ptr<Exchange> BoundPlan::exchange_on(PlansByBuffers& plans, Buffers buffers, const BufferMemory& where,
                                                 Transport& transport) const {
  return std::make_unique<Exchange>(plans.on(where.behind_host()), buffers, where, transport, Progress::in_calls,
                                    ready_.memory, ready_.combiners);
}

Exchange& BoundPlan::bind(Buffers buffers, const BufferMemory& where, Transport& transport) {
  Binding* binding = bindings_.find([&](const Binding& known) { return known.buffers == buffers; });
  if (binding == nullptr) binding = &bindings_.add({buffers, nullptr});
  std::unique_ptr<Exchange>& exchange = binding->exchange;
  if (!exchange || !is_same(exchange->executor().where(), where)) {
    exchange.reset();
    exchange = exchange_on(plans_, buffers, where, transport);
  }
  return *exchange;
}

BoundPlan::Overlapping BoundPlan::take(Buffers buffers, const BufferMemory& where,
                                       std::shared_ptr<const PrivateComm> comm, int tag) {
  const std::lock_guard lock(in_use_);
  const auto spare = std::ranges::find_if(spares_, [&](const Overlapping& each) {
    return each.buffers == buffers && each.comm == comm && each.tag == tag &&
           is_same(each.exchange->executor().where(), where);
  });
  if (spare == spares_.end()) {
    spares_.reserve(most_spares);
    P2PTransport transport(comm->get(), tag, ready_.elements.get());
    return {buffers, std::move(comm), tag, exchange_on(plans_, buffers, where, transport)};
  }
  Overlapping found = std::move(*spare);
  spares_.erase(spare);
  return found;
}

void BoundPlan::give_back(Overlapping exchange) {
  if (exchange.exchange->executor().plan().shadow_bytes > most_kept_shadow) return;
  const std::lock_guard lock(in_use_);
  if (spares_.size() == most_spares) spares_.erase(spares_.begin());
  spares_.push_back(std::move(exchange));
}

void BoundPlan::run_unbound(Buffers buffers, const BufferMemory& where, Transport& transport) const {
  PlansByBuffers plans(plan());
  const std::unique_ptr<Exchange> once = exchange_on(plans, buffers, where, transport);
  once->start();
  once->wait();
}

void BoundPlan::run(Buffers buffers, const BufferMemory& where, Transport& transport) {
  if (!has_bindings() || !in_use_.try_lock()) return run_unbound(buffers, where, transport);
  const std::lock_guard lock(in_use_, std::adopt_lock);
  if (plans_.on(where.behind_host())->shadow_bytes > most_kept_shadow) return run_unbound(buffers, where, transport);
  try {
    Exchange& exchange = bind(buffers, where, transport);
    exchange.start();
    exchange.wait();
  } catch (...) {
    forget();
    throw;
  }
}

void BoundPlan::run(Buffers buffers, const PrivateComm& comm, int tag) {
  P2PTransport transport(comm.get(), tag, ready_.elements.get());
  run(buffers, look_at(buffers), transport);
}

}  // namespace laneway
