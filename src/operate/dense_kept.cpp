#include "operate/dense_kept.hpp"

#include <algorithm>
#include <utility>

#include "carriers/messages/p2p.hpp"
#include "choose/device_support.hpp"
#include "core/address.hpp"
#include "core/error.hpp"
#include "device/device.hpp"

namespace laneway {

namespace {

int commutes(MPI_Op op) {
  int flag = 1;
  if (op != MPI_OP_NULL) check_mpi(MPI_Op_commutative(op, &flag), "MPI_Op_commutative");
  return flag;
}

bool same(const std::vector<std::int64_t>& known, const Integers& given) {
  if (known.empty()) return true;
  if (given.null()) return false;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (given[static_cast<std::int64_t>(i)] != known[i]) return false;
  return true;
}

}  // namespace

KnownCollective::KnownCollective(const CollectiveCall& call, Rank rank, Rank ranks)
    : kind_(call.kind), root_(call.root), op_(call.op), in_place_(is_in_place(call)) {
  if (call.kind == DenseKind::alltoallw) return;
  known_ = true;
  if (call.op != MPI_OP_NULL) commutes_ = commutes(call.op);
  const bool is_root = !has_root(call.kind) || call.root == rank;
  const int entries = laneway::entries(call, ranks, ranks);
  if (uses_send(call, is_root)) send_.learn(call.send, entries);
  if (uses_receive(call, is_root) || reduces(call.kind)) receive_.learn(call.receive, entries);
}

void KnownCollective::Side::learn(const SideArguments& given, int entries) {
  used = true;
  count = given.count;
  type = given.type;
  if (type != MPI_DATATYPE_NULL && !is_predefined(type)) map = type_map(type);
  for (int i = 0; i < entries && !given.counts.null(); ++i) counts.push_back(given.counts[i]);
  for (int i = 0; i < entries && !given.displacements.null(); ++i) displacements.push_back(given.displacements[i]);
}

bool KnownCollective::Side::equal(const SideArguments& given) const {
  if (!used) return true;
  if (given.count != count || given.type != type || !same(counts, given.counts) ||
      !same(displacements, given.displacements))
    return false;
  return map == nullptr || type_map(given.type) == map;
}

bool KnownCollective::equal(const CollectiveCall& call) const {
  return call.kind == kind_ && call.root == root_ && call.op == op_ && is_in_place(call) == in_place_ &&
         call.fault == nullptr && receive_.equal(call.receive) && send_.equal(call.send) &&
         (op_ == MPI_OP_NULL || commutes(op_) == commutes_);
}

void require_host_buffers(const BufferMemory& where) {
  require(!where.on_device().any(), ErrorKind::unsupported,
          "a buffer is on a device, where lnw_collective=mpi alone takes dense operations");
}

Exchange* BoundDense::find(Buffers buffers) {
  const auto known = std::find_if(bindings_.begin(), bindings_.end(), [&](const Binding& binding) {
    return binding.buffers.send == buffers.send && binding.buffers.receive == buffers.receive;
  });
  if (known == bindings_.end()) return nullptr;
  std::rotate(bindings_.begin(), known, known + 1);
  return bindings_.front().exchange.get();
}

std::unique_ptr<Exchange> BoundDense::bind(Buffers buffers, const BufferMemory& where, const PrivateComm& comm) {
  P2PTransport transport(comm.get(), PrivateComm::blocking_tag);
  return std::make_unique<Exchange>(plan_, buffers, where, transport, Progress::in_calls, memory_, combiners_);
}

void BoundDense::run(Buffers buffers, const PrivateComm& comm) {
  Exchange* exchange = find(buffers);
  if (exchange == nullptr) {
    const BufferMemory where = glance_at(buffers, *plan_, DeviceUse{});
    if (where.on_device().any()) return run_through_host(buffers, where, comm);
    if (bindings_.size() == most_bindings) bindings_.pop_back();
    bindings_.insert(bindings_.begin(), Binding{buffers, bind(buffers, where, comm)});
    exchange = bindings_.front().exchange.get();
  }
  try {
    exchange->start();
    exchange->wait();
  } catch (...) {
    bindings_.clear();
    throw;
  }
}

namespace {

/// What a plan touches of a buffer on a device, in memory of the host.
class HostCopy {
 public:
  HostCopy(const MemoryInfo& memory, const void* buffer, Range touched)
      : buffer_(static_cast<std::byte*>(const_cast<void*>(buffer))), touched_(touched) {
    if (memory.host_may_touch() || touched.bytes == 0) return;
    stream_ = Stream(Device(memory));
    copy_.resize(static_cast<std::size_t>(touched.bytes));
    move(copy_.data(), at(buffer_, touched.offset));
  }
  /// That has the same offsets as the buffer.
  [[nodiscard]] void* buffer() { return copy_.empty() ? buffer_ : at(copy_.data(), -touched_.offset); }
  void put_back() {
    if (!copy_.empty()) move(at(buffer_, touched_.offset), copy_.data());
  }

 private:
  void move(void* to, const void* from) const {
    stream_.copy(to, from, copy_.size());
    stream_.synchronize();
  }

  std::byte* buffer_;
  Range touched_;
  Stream stream_;
  std::vector<std::byte> copy_;
};

}  // namespace

void BoundDense::run_through_host(Buffers buffers, const BufferMemory& where, const PrivateComm& comm) {
  const Extents touched = extents_of(*plan_);
  HostCopy send(where.send, buffers.send, touched.send);
  HostCopy receive(where.receive, buffers.receive, touched.receive);
  const Buffers copies{send.buffer(), receive.buffer()};
  const std::unique_ptr<Exchange> exchange = bind(copies, BufferMemory{}, comm);
  exchange->start();
  exchange->wait();
  receive.put_back();
}

std::shared_ptr<KeptDense> KeptDensePlans::find(const CollectiveCall& call) {
  const auto known =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry->arguments.equal(call); });
  if (known == entries_.end()) return nullptr;
  std::rotate(entries_.begin(), known, known + 1);
  return entries_.front();
}

void KeptDensePlans::keep(std::shared_ptr<KeptDense> made) {
  if (!made->arguments.known()) return;
  if (entries_.size() == most_plans) entries_.pop_back();
  entries_.insert(entries_.begin(), std::move(made));
}

}  // namespace laneway
