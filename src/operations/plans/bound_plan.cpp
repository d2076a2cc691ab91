#include "operations/plans/bound_plan.hpp"

#include <mutex>

namespace laneway {

Exchange& BoundPlan::bind(Buffers buffers, const BufferMemory& where, Transport& transport) {
  Binding* binding = bindings_.find([&](const Binding& known) { return known.buffers == buffers; });
  if (binding == nullptr) binding = &bindings_.add({buffers, nullptr});
  std::unique_ptr<Exchange>& exchange = binding->exchange;
  if (!exchange || exchange->executor().uses_device() || where.on_device().any()) {
    exchange.reset();
    exchange = std::make_unique<Exchange>(plans_.on(where.behind_host()), buffers, where, transport, Progress::in_calls,
                                          memory_, combiners_);
  }
  return *exchange;
}

void BoundPlan::run_unbound(Buffers buffers, const BufferMemory& where, Transport& transport) const {
  Exchange once(PlansByBuffers(plan()).on(where.behind_host()), buffers, where, transport, Progress::in_calls, memory_,
                combiners_);
  once.start();
  once.wait();
}

void BoundPlan::run(Buffers buffers, const BufferMemory& where, Transport& transport) {
  if (!has_bindings() || !in_use_.try_lock()) return run_unbound(buffers, where, transport);
  const std::lock_guard lock(in_use_, std::adopt_lock);
  try {
    Exchange& exchange = bind(buffers, where, transport);
    exchange.start();
    exchange.wait();
  } catch (...) {
    forget();
    throw;
  }
}

}  // namespace laneway
