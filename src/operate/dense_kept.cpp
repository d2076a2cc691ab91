#include "operate/dense_kept.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "carriers/messages/p2p.hpp"
#include "choose/device_support.hpp"
#include "core/error.hpp"
#include "mpi/check.hpp"
#include "operate/host_images.hpp"

namespace laneway {

namespace {

int commutes(MPI_Op op) {
  int flag = 1;
  if (op != MPI_OP_NULL) check_mpi(MPI_Op_commutative(op, &flag), "MPI_Op_commutative");
  return flag;
}

/// Null of a predefined one.
std::shared_ptr<const TypeMap> map_of_derived(MPI_Datatype type) {
  return is_predefined(type) ? nullptr : type_map(type);
}

bool same(const std::vector<std::int64_t>& known, const Integers& given) {
  if (known.empty()) return true;
  if (given.null()) return false;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (given[static_cast<std::int64_t>(i)] != known[i]) return false;
  return true;
}

}  // namespace

KnownCollective::KnownCollective(const CollectiveCall& call, Rank rank, Rank ranks, bool types)
    : kind_(call.kind), root_(call.root), op_(call.op), in_place_(is_in_place(call)) {
  if (call.kind == DenseKind::alltoallw && !types) return;
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
  if (given.types == nullptr && type != MPI_DATATYPE_NULL) map = map_of_derived(type);
  for (int i = 0; i < entries && given.types != nullptr; ++i) {
    types.push_back(given.types[i]);
    maps.push_back(map_of_derived(given.types[i]));
  }
  for (int i = 0; i < entries && !given.counts.null(); ++i) counts.push_back(given.counts[i]);
  for (int i = 0; i < entries && !given.displacements.null(); ++i) displacements.push_back(given.displacements[i]);
}

bool KnownCollective::Side::equal(const SideArguments& given) const {
  if (!used) return true;
  if (given.count != count || given.type != type || !same(counts, given.counts) ||
      !same(displacements, given.displacements) || (!types.empty() && given.types == nullptr))
    return false;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (given.types[i] != types[i] || map_of_derived(given.types[i]) != maps[i]) return false;
  return map == nullptr || type_map(given.type) == map;
}

std::string KnownCollective::Side::difference(const SideArguments& given, const SideRow& names) const {
  if (!used) return "";
  const auto say = [](const std::string& name, std::int64_t now, std::int64_t before) {
    return name + " is " + std::to_string(now) + " instead of " + std::to_string(before);
  };
  const auto entry = [](const char* name, std::size_t i) { return std::string(name) + "[" + std::to_string(i) + "]"; };
  if (given.count != count) return say(names.count, given.count, count);
  for (const auto& [name, known, now] : {std::tuple{names.counts, &counts, &given.counts},
                                         std::tuple{names.displacements, &displacements, &given.displacements}})
    for (std::size_t i = 0; i < known->size(); ++i)
      if (const std::int64_t value = (*now)[static_cast<std::int64_t>(i)]; value != (*known)[i])
        return say(entry(name, i), value, (*known)[i]);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (given.types[i] != types[i] || map_of_derived(given.types[i]) != maps[i])
      return entry(names.types, i) + " is another datatype";
  return equal(given) ? "" : std::string(names.type) + " is another datatype";
}

std::string KnownCollective::difference(const CollectiveCall& call) const {
  if (is_in_place(call) != in_place_) return in_place_ ? "it is no longer in place" : "it is in place";
  const DenseRow& row = row_of(call.kind);
  std::string what = send_.difference(call.send, row.send);
  if (what.empty()) what = receive_.difference(call.receive, row.receive);
  return what.empty() && !equal(call) ? "op is another operator" : what;
}

bool KnownCollective::equal(const CollectiveCall& call) const {
  return call.kind == kind_ && call.root == root_ && call.op == op_ && is_in_place(call) == in_place_ &&
         call.fault == nullptr && receive_.equal(call.receive) && send_.equal(call.send) &&
         (op_ == MPI_OP_NULL || commutes(op_) == commutes_);
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
