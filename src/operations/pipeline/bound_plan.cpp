#include "operations/pipeline/bound_plan.hpp"

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

Whereabouts BoundPlan::look_at(Buffers buffers) const {
  Whereabouts here{buffers, glance_at(buffers, *plan(), ready_.device_use)};
  if (!ready_.on_images || has_bindings() || !here.where.on_device().any()) return here;
  here.images = std::make_unique<HostImages>(buffers, here.where, touched_by(*plan()), MemoryKind::host);
  here.buffers = here.images->images();
  here.where = {};
  return here;
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
  static constexpr BufferMemory on_host;
  if (!has_plugins()) return run(buffers, on_host, transport);
  const Whereabouts here = look_at(buffers);
  if (!here.images) return run(buffers, here.where, transport);
  here.images->run([&] { run(here.buffers, on_host, transport); });
}

}  // namespace laneway
