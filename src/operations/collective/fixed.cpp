#include "operations/collective/fixed.hpp"

#include <optional>
#include <string>

#include "operations/collective/family.hpp"

namespace laneway {

namespace {

/// Of the communicator's own hints.
struct Promise final : Attachment {
  std::optional<bool> counts;
};

bool promises_counts(Communicator& communicator) {
  std::optional<bool>& counts = communicator.attachment<Promise>().counts;
  if (!counts) counts = resolve_hints({}, communicator.hints).fixed_dense_counts;
  return *counts;
}

/// Of a reduction, ranks may have other handles of a derived datatype, or of a user's operator.
bool may_be_promised(const CollectiveCall& call) {
  if (call.kind == DenseKind::reduce_scatter)
    return is_predefined_operator(call.op) && is_predefined(call.receive.type);
  return call.kind == DenseKind::allgatherv || !knows_all_sizes(call.kind);
}

FixedKey key_of(const CollectiveCall& call, Phases phases) {
  FixedKey key{.operation = operation_of(call.kind), .phases = phases, .root = has_root(call.kind) ? call.root : 0};
  if (!reduces(call.kind)) return key;
  key.op = call.op;
  key.element = call.receive.type;
  return key;
}

}  // namespace

bool is_promised(MPI_Comm comm, const CollectiveCall& call) {
  if (!may_be_promised(call)) return false;
  Communicator* const known = Communicator::find(comm);
  return known != nullptr ? promises_counts(*known) : resolve_hints({}, hints_of(comm)).fixed_dense_counts;
}

const FixedOperation* find_fixed(Communicator& communicator, const DenseKnowledge& known, MPI_Comm users,
                                 const CollectiveCall& call, Phases phases) {
  if (!known.hints.fixed_dense_counts || !may_be_promised(call)) return nullptr;
  const FixedOperation& fixed =
      fixed_operation<CollectiveFamily>(communicator, key_of(call, phases), Use::calls, users, call, phases);
  std::string difference;
  if (!fixed.signature.equal(call)) {
    const PrivateComm& comm = *fixed.order->comm();
    check_collective(call, comm.rank(), comm.size());
    difference = fixed.signature.difference(call);
  }
  keep_promise(fixed, "lnw_fixed_dense_counts", name(call.kind), difference,
               known.hints.check && phases == Phases::one);
  return fixed.bound ? &fixed : nullptr;
}

}  // namespace laneway
