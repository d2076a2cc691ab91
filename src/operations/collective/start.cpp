#include "operations/collective/start.hpp"

#include <utility>

#include "operations/collective/execution/through_host.hpp"
#include "operations/collective/plans.hpp"
#include "runtime/carriers/messages/p2p.hpp"

namespace laneway {

std::unique_ptr<Request> make_by_plan(Communicator& communicator, ExchangeParts parts, Buffers buffers,
                                      Reasons reasons) {
  const std::shared_ptr<PrivateComm> comm = parts.comm;
  const BufferMemory where = laneway::glance_at(buffers, *parts.plan, DeviceUse{});
  std::unique_ptr<Work> work;
  if (where.on_device().any()) {
    employ(parts.helper);
    reasons.progress_by = name(parts.helper);
    auto images = std::make_unique<HostImages>(buffers, where, touched_by(*parts.plan), MemoryKind::pinned);
    work = std::make_unique<DenseThroughHost>(std::move(parts), std::move(images));
  } else {
    auto exchange = std::make_unique<DenseExchange>(std::move(parts));
    reasons.progress_by = exchange->bind(buffers);
    work = std::move(exchange);
  }
  return std::make_unique<Request>(comm, communicator.error_handler(), std::move(work), std::move(reasons));
}

std::unique_ptr<Request> start_by_plan(Communicator& communicator, NonblockingParts parts, Reasons reasons) {
  const std::shared_ptr<PrivateComm> comm = parts.order->comm();
  if (const BufferMemory where = parts.where; where.on_device().any()) {
    parts.where = {};
    parts.images =
        std::make_unique<HostImages>(parts.buffers, where, touched_by(*parts.bound->plan()), MemoryKind::host);
  }
  return std::make_unique<Request>(comm, communicator.error_handler(),
                                   std::make_unique<NonblockingExchange>(std::move(parts)), std::move(reasons),
                                   Request::Life::nonblocking);
}

void run_by_plan(BoundPlan& bound, Buffers buffers, const PrivateComm& comm) {
  static constexpr BufferMemory on_host;
  P2PTransport transport(comm.get(), PrivateComm::blocking_tag);
  if (!has_plugins()) return bound.run(buffers, on_host, transport);
  const BufferMemory where = laneway::glance_at(buffers, *bound.plan(), DeviceUse{});
  if (!where.on_device().any()) return bound.run(buffers, where, transport);
  HostImages images(buffers, where, touched_by(*bound.plan()), MemoryKind::host);
  images.fetch();
  images.synchronize();
  bound.run(images.images(), on_host, transport);
  images.put_back();
  images.synchronize();
}

std::unique_ptr<Request> start_by_rule(Communicator& communicator, const DenseKnowledge& known, const DenseRule& rule,
                                       const CollectiveCall& call, const Looked& looked, Rank rank, Reasons reasons) {
  const std::shared_ptr<const Plan> plan = packed(
      make_dense_plan(rule, looked.blocks(call, rank, known.layout.ranks()), known.layout, settings_of(known.hints)));
  const Buffers buffers = buffers_of(call);
  return start_by_plan(communicator,
                       {.order = start_order(communicator),
                        .buffers = buffers,
                        .bound = std::make_shared<BoundPlan>(plan, looked.combiners(*plan)),
                        .where = laneway::glance_at(buffers, *plan, DeviceUse{}),
                        .helper = find_helper(known.hints.progress)},
                       std::move(reasons));
}

}  // namespace laneway
