#include "operate/dense_kept.hpp"

#include <algorithm>
#include <utility>

#include "carriers/messages/p2p.hpp"
#include "choose/device_support.hpp"

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

Exchange& KeptDense::bind(Buffers buffers, const PrivateComm& priv) {
  const auto known = std::find_if(bindings.begin(), bindings.end(), [&](const Binding& binding) {
    return binding.buffers.send == buffers.send && binding.buffers.receive == buffers.receive;
  });
  if (known != bindings.end()) {
    std::rotate(bindings.begin(), known, known + 1);
    return *bindings.front().exchange;
  }
  const BufferMemory where = glance_at(buffers, *plan, DeviceUse{});
  require_host(where);
  if (bindings.size() == most_bindings) bindings.pop_back();
  P2PTransport transport(priv.get(), PrivateComm::blocking_tag);
  bindings.insert(bindings.begin(),
                  Binding{buffers, std::make_unique<Exchange>(plan, buffers, where, transport, Progress::in_calls,
                                                              nullptr, combiners)});
  return *bindings.front().exchange;
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
