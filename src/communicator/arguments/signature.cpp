#include "communicator/arguments/signature.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <type_traits>

#include "mpi/check.hpp"

namespace laneway {

namespace {

/// A handle may be of another operator since; what it computes, the handle says itself.
bool commutes(MPI_Op op) {
  int flag = 1;
  if (op != MPI_OP_NULL) check_mpi(MPI_Op_commutative(op, &flag), "MPI_Op_commutative");
  return flag != 0;
}

std::vector<std::int64_t> copy_of(const Integers& given, int entries) {
  std::vector<std::int64_t> copy;
  for (int i = 0; i < entries && !given.null(); ++i) copy.push_back(given[i]);
  return copy;
}

bool same(const std::vector<std::int64_t>& known, const Integers& given) {
  if (known.empty()) return true;
  if (given.null()) return false;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (given[static_cast<std::int64_t>(i)] != known[i]) return false;
  return true;
}

std::vector<int> slots_of(const std::vector<Neighbor>& neighbors) {
  std::vector<int> slots(neighbors.size());
  std::ranges::transform(neighbors, slots.begin(), &Neighbor::slot);
  return slots;
}

}  // namespace

bool CallSignature::Type::is_still(MPI_Datatype given) const {
  return given == handle && (map == nullptr || type_map(given) == map);
}

CallSignature::Side::Side(const SideArguments& given, int entries, const std::vector<int>& slots)
    : is_used(true),
      has_list(given.types != nullptr),
      count(given.count),
      counts(copy_of(given.counts, entries)),
      displacements(copy_of(given.displacements, entries)) {
  const auto add = [&](int slot, MPI_Datatype type) {
    if (!types.empty() && types.back().handle == type)
      types.push_back({slot, type, types.back().map});
    else
      types.push_back({slot, type, type == MPI_DATATYPE_NULL || is_predefined(type) ? nullptr : type_map(type)});
  };
  if (has_list)
    for (const int slot : slots) add(slot, given.types[slot]);
  else
    add(0, given.type);
}

bool CallSignature::Side::equal(const SideArguments& given) const {
  if (!is_used) return true;
  if (count != given.count || !same(counts, given.counts) || !same(displacements, given.displacements)) return false;
  if (!has_list) return types.front().is_still(given.type);
  if (given.types == nullptr) return types.empty();
  const Type* before = nullptr;
  return std::all_of(types.begin(), types.end(), [&](const Type& type) {
    const bool is_as_before = before != nullptr && before->handle == type.handle;
    before = &type;
    return is_as_before ? given.types[type.slot] == type.handle : type.is_still(given.types[type.slot]);
  });
}

std::string CallSignature::Side::difference(const SideArguments& given, const SideRow& names) const {
  if (!is_used) return "";
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
  if (has_list)
    for (const Type& type : types)
      if (!type.is_still(given.types[type.slot]))
        return entry(names.types, static_cast<std::size_t>(type.slot)) + " is another datatype";
  return equal(given) ? "" : std::string(names.type) + " is another datatype";
}

CallSignature::CallSignature(const Call& call, const Topology& topology) {
  const KindRow& row = row_of(call.kind);
  if (row.send.blocks == BlockForm::indexed || row.receive.blocks == BlockForm::indexed) return;
  operation_ = operation_of(call.kind);
  op_ = call.op;
  commutes_ = commutes(op_);
  send_ = Side(call.send, topology.outdegree, slots_of(topology.destinations));
  receive_ = Side(call.receive, topology.indegree, slots_of(topology.sources));
}

CallSignature::CallSignature(const CollectiveCall& call, Rank rank, Rank ranks, bool types) {
  if (call.kind == DenseKind::alltoallw && !types) return;
  operation_ = operation_of(call.kind);
  root_ = call.root;
  in_place_ = is_in_place(call);
  op_ = call.op;
  commutes_ = commutes(op_);
  const bool is_root = !has_root(call.kind) || call.root == rank;
  const int entries = laneway::entries(call, ranks, ranks);
  std::vector<int> slots(static_cast<std::size_t>(entries));
  std::iota(slots.begin(), slots.end(), 0);
  if (uses_send(call, is_root)) send_ = Side(call.send, entries, slots);
  if (uses_receive(call, is_root) || reduces(call.kind)) receive_ = Side(call.receive, entries, slots);
}

bool CallSignature::equal(const Call& call) const {
  return operation_ == operation_of(call.kind) && call.fault == nullptr && op_ == call.op && send_.equal(call.send) &&
         receive_.equal(call.receive) && commutes_ == commutes(call.op);
}

bool CallSignature::equal(const CollectiveCall& call) const {
  return operation_ == operation_of(call.kind) && call.fault == nullptr && op_ == call.op && root_ == call.root &&
         in_place_ == is_in_place(call) && receive_.equal(call.receive) && send_.equal(call.send) &&
         commutes_ == commutes(call.op);
}

template <class AnyCall>
std::string CallSignature::difference(const AnyCall& call) const {
  if constexpr (std::is_same_v<AnyCall, CollectiveCall>)
    if (is_in_place(call) != in_place_) return in_place_ ? "it is no longer in place" : "it is in place";
  const auto& row = row_of(call.kind);
  std::string what = send_.difference(call.send, row.send);
  if (what.empty()) what = receive_.difference(call.receive, row.receive);
  return what.empty() && !equal(call) ? "op is another operator" : what;
}
template std::string CallSignature::difference(const Call& call) const;
template std::string CallSignature::difference(const CollectiveCall& call) const;

}  // namespace laneway
