#include "operate/fixed_operation.hpp"

#include <cstdlib>
#include <utility>

#include "comm/decisions.hpp"
#include "core/tell.hpp"
#include "operate/neighborhood.hpp"
#include "operate/proof.hpp"
#include "operate/routes.hpp"

namespace laneway {

namespace {

/// Of a communicator. Blocking and nonblocking calls have their own where only the blocking ones may relay.
struct FixedOperations final : Attachment {
  std::array<std::map<FixedKey, std::unique_ptr<FixedOperation>>, 2> of;  // by Phases
};

}  // namespace

FixedOperation::FixedOperation(Communicator& communicator, const Call& call, Use use, Phases phases) {
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  compare_decisions(communicator, *comm);
  Agreed agreed = agree_on(communicator, *comm, MPI_INFO_NULL, call, phases);
  Chosen chosen = choose(communicator, *comm, agreed, use);
  note_decision(communicator, [&] { return "fixed " + text_of_decision(call.kind, agreed, chosen); });
  tell_reasons(chosen.reasons, comm->rank());
  const Reduction* const reduction = agreed.reduction ? &agreed.reduction->what : nullptr;
  const Combiners combiners = reduction != nullptr ? Combiners{reduction->combiner} : Combiners{};
  pattern_ = reduction != nullptr ? reduction->pattern : std::move(agreed.pattern);
  if (agreed.hints.check_plan)
    prove_plans(*comm, *chosen.plan, pattern_, chosen.reasons.strategy,
                reduction != nullptr ? &reduction->how : nullptr);
  signature_ = CallSignature(call, communicator.topology());
  reasons_ = std::move(chosen.reasons);
  device_use_ = chosen.device_use;
  device_use_.combining = kernels_of(combiners);
  order_ = std::make_shared<StartOrder>(comm, agreed.tag);
  const std::size_t bindings = is_direct() && !chosen.memory ? 0 : BoundPlan::most_bindings;
  bound_ = std::make_shared<BoundPlan>(std::move(chosen.plan), combiners, bindings, std::move(chosen.memory));
}

void FixedOperation::check(Communicator& communicator, const Call& call) const {
  const Topology& topology = communicator.topology();
  if (signature_.equal(call)) return;
  if ((reduces(call.kind) ? reduction_of(call, topology).pattern : describe(call, topology)) == pattern_) return;
  tell("rank " + std::to_string(communicator.rank()) +
       ": lnw_fixed_counts=true promised that counts, displacements and layouts of datatypes on this communicator "
       "never change, but they differ from those of the first call of this operation");
  MPI_Abort(order_->comm()->get(), MPI_ERR_ARG);
  std::abort();
}

std::unique_ptr<NonblockingExchange> FixedOperation::start(Buffers buffers, Helper helper) const {
  return std::make_unique<NonblockingExchange>(
      NonblockingParts{.order = order_,
                       .buffers = buffers,
                       .bound = bound_,
                       .where = laneway::glance_at(buffers, *bound_->plan(), device_use_),
                       .helper = helper});
}

FixedOperation& fixed_operation(Communicator& communicator, const FixedKey& key, const Call& call, Use use,
                                Phases phases) {
  if (plans_of_calls(communicator).split_phases_relay) phases = Phases::one;
  auto& all = communicator.attachment<FixedOperations>().of[static_cast<std::size_t>(phases)];
  const auto known = all.find(key);
  if (known != all.end()) return *known->second;
  // All ranks have it or none.
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  const auto make = [&] {
    std::unique_ptr<FixedOperation>& made = all[key];
    made = std::make_unique<FixedOperation>(communicator, call, use, phases);
    return made.get();
  };
  try {
    return *together(*comm, make);
  } catch (...) {
    all.erase(key);
    throw;
  }
}

}  // namespace laneway
