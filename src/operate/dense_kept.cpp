#include "operate/dense_kept.hpp"

#include <utility>

#include "carriers/messages/p2p.hpp"
#include "choose/device_support.hpp"
#include "operate/host_images.hpp"

namespace laneway {

std::unique_ptr<Exchange> BoundDense::bind(Buffers buffers, const BufferMemory& where, const PrivateComm& comm) {
  P2PTransport transport(comm.get(), PrivateComm::blocking_tag);
  return std::make_unique<Exchange>(plan_, buffers, where, transport, Progress::in_calls, memory_, combiners_);
}

void BoundDense::run(Buffers buffers, const PrivateComm& comm) {
  Binding* binding = bindings_.find([&](const Binding& known) { return known.buffers == buffers; });
  if (binding == nullptr) {
    const BufferMemory where = glance_at(buffers, *plan_, DeviceUse{});
    if (where.on_device().any()) return run_through_host(buffers, where, comm);
    binding = &bindings_.add(Binding{buffers, bind(buffers, where, comm)});
  }
  try {
    binding->exchange->start();
    binding->exchange->wait();
  } catch (...) {
    bindings_.clear();
    throw;
  }
}

void BoundDense::run_through_host(Buffers buffers, const BufferMemory& where, const PrivateComm& comm) {
  HostImages images(buffers, where, touched_by(*plan_), MemoryKind::host);
  images.fetch();
  const std::unique_ptr<Exchange> exchange = bind(images.images(), BufferMemory{}, comm);
  images.synchronize();
  exchange->start();
  exchange->wait();
  images.put_back();
  images.synchronize();
}

}  // namespace laneway
