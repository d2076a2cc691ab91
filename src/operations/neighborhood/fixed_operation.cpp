#include "operations/neighborhood/fixed_operation.hpp"

#include <cstdlib>
#include <utility>

#include "base/log_line.hpp"
#include "communicator/decisions.hpp"
#include "operations/neighborhood/neighborhood.hpp"
#include "operations/neighborhood/routes.hpp"
#include "operations/plans/proof.hpp"

namespace laneway {

namespace {

struct FixedNeighborhoods final : Attachment {
  std::map<std::pair<Phases, FixedKey>, std::unique_ptr<FixedOperation>> of;
};

std::unique_ptr<FixedOperation> make_fixed(Communicator& communicator, const std::shared_ptr<PrivateComm>& comm,
                                           const Call& call, Use use, Phases phases) {
  compare_decisions(communicator, *comm);
  Agreed agreed = agree_on(communicator, *comm, MPI_INFO_NULL, call, phases);
  Chosen chosen = choose(communicator, *comm, agreed, use);
  note_decision(communicator, [&] { return "fixed " + text_of_decision(call.kind, agreed, chosen); });
  tell_reasons(chosen.reasons, comm->rank());
  const Reduction* const reduction = agreed.reduction ? &agreed.reduction->what : nullptr;
  const Combiners combiners = reduction != nullptr ? Combiners{reduction->combiner} : Combiners{};
  auto made = std::make_unique<FixedOperation>(FixedOperation{CallSignature(call, communicator.topology()), {}});
  if (reduction != nullptr)
    made->pattern = reduction->pattern;
  else
    made->pattern = std::move(agreed.pattern);
  made->reasons = std::move(chosen.reasons);
  made->device_use = chosen.device_use;
  made->device_use.combining = kernels_of(combiners);
  if (agreed.hints.check_plan)
    prove_plans(*comm, *chosen.plan, made->pattern, made->reasons.strategy,
                reduction != nullptr ? &reduction->how : nullptr);
  made->order = std::make_shared<StartOrder>(comm, agreed.tag);
  // Where each edge is a message that needs no help, exchanges need not come one after another.
  const std::size_t bindings = made->is_direct() && !chosen.memory ? 0 : BoundPlan::most_bindings;
  made->bound = std::make_shared<BoundPlan>(std::move(chosen.plan), combiners, bindings, std::move(chosen.memory));
  return made;
}

}  // namespace

NonblockingParts FixedOperation::parts(Buffers buffers, Helper helper) const {
  return {.order = order,
          .buffers = buffers,
          .bound = bound,
          .where = laneway::glance_at(buffers, *bound->plan(), device_use),
          .helper = helper};
}

std::string text_of_broken(const char* hint, Rank rank, std::string_view call, const std::string& difference) {
  return "rank " + std::to_string(rank) + ": " + std::string(call) + ": " + difference + ", but " + hint +
         "=true promised the arguments of the first call";
}

void end_job(const std::string& broken, MPI_Comm comm) {
  log_line(broken);
  MPI_Abort(comm, MPI_ERR_ARG);
  std::abort();
}

FixedOperation& fixed_operation(Communicator& communicator, const FixedKey& key, const Call& call, Use use,
                                Phases phases) {
  if (plans_of_calls(communicator).split_phases_relay) phases = Phases::one;
  std::unique_ptr<FixedOperation>& found = communicator.attachment<FixedNeighborhoods>().of[{phases, key}];
  if (found) return *found;
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  found = together(*comm, [&] { return make_fixed(communicator, comm, call, use, phases); });
  return *found;
}

void keep_promise(const FixedOperation& fixed, Communicator& communicator, const Call& call) {
  if (fixed.signature.equal(call)) return;
  const Topology& topology = communicator.topology();
  if ((reduces(call.kind) ? reduction_of(call, topology).pattern : describe(call, topology)) == fixed.pattern) return;
  end_job(text_of_broken("lnw_fixed_counts", communicator.rank(), name(call.kind), fixed.signature.difference(call)),
          fixed.order->comm()->get());
}

}  // namespace laneway
