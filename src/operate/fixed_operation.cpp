#include "operate/fixed_operation.hpp"

#include <cstdlib>
#include <utility>

#include "choose/costs.hpp"
#include "choose/path_choice.hpp"
#include "choose/tuning.hpp"
#include "core/tell.hpp"
#include "operate/proof.hpp"
#include "operate/routes.hpp"

namespace laneway {

namespace {

/// Predictions err by so much. Trials do not.
constexpr double most_expected_loss = 1.25;

/// The strategy that relays and is expected to take the least time, if it is worth trying.
const StrategyRow* find_worth_trying(const Selection& selection, const std::vector<const StrategyRow*>& rows) {
  const StrategyRow* best = nullptr;
  double least = 0;
  double direct = 0;
  for (std::size_t c = 0; c < selection.predictions.size(); ++c) {
    const double seconds = selection.predictions[c].seconds;
    if (rows[c]->name == "direct") {
      direct = seconds;
    } else if (best == nullptr || seconds < least) {
      best = rows[c];
      least = seconds;
    }
  }
  return least < most_expected_loss * direct ? best : nullptr;
}

Planned plan_to_try(Communicator& communicator, const PrivateComm& comm, Agreed& agreed) {
  const StrategyChoice outermost = outermost_choice(communicator, comm, agreed);
  if (!outermost.is_automatic() || agreed.hints.tuning == Tuning::measure)
    return make_plan_on_best_path(communicator, comm, agreed);
  if (agreed.path == MemoryPath::automatic) agreed.path = MemoryPath::staged;
  Planned planned = make_plan(communicator, comm, agreed, outermost);
  if (planned.reasons.strategy == "direct") {
    const StrategyRow* const row = find_worth_trying(planned.reasons.selection, outermost.rows());
    if (row == nullptr) return planned;
    Reasons reasons = std::move(planned.reasons);
    planned = make_plan(communicator, comm, agreed, {row, outermost.deduplicate});
    reasons.strategy = planned.reasons.strategy;
    reasons.is_trial = true;
    planned.reasons = std::move(reasons);
  }
  localize(communicator, comm, agreed, planned);
  return planned;
}

/// Of a communicator. Blocking and nonblocking calls have their own where only the blocking ones may relay.
struct FixedOperations final : Attachment {
  std::array<std::map<FixedKey, std::unique_ptr<FixedOperation>>, 2> of;  // by Phases
};

}  // namespace

FixedOperation::FixedOperation(Communicator& communicator, const Call& call, Choice choice, Phases phases) {
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  Agreed agreed = agree_on(communicator, *comm, MPI_INFO_NULL, call, phases);
  agreed.hints.shared_staging = 0;  // exchanges of several operations may be active
  lend_nothing(agreed);
  Planned planned = choice == Choice::to_try ? plan_to_try(communicator, *comm, agreed)
                                             : make_plan_on_best_path(communicator, *comm, agreed);
  tell_reasons(planned.reasons, comm->rank());
  if (agreed.hints.check_plan) prove_plans(*comm, *planned.plan, agreed.pattern, planned.reasons.strategy);
  arguments_ = KnownArguments(call, communicator.topology());
  pattern_ = std::move(agreed.pattern);
  plan_ = std::move(planned.plan);
  reasons_ = std::move(planned.reasons);
  device_use_ = device_use(agreed);
  order_ = std::make_shared<StartOrder>(comm, agreed.tag);
  if (!is_direct() || planned.memory)
    bound_ = std::make_shared<BoundPlan>(plan_, std::move(planned.memory), device_use_);
}

void FixedOperation::check(Communicator& communicator, const Call& call) const {
  if (arguments_.equal(call) || describe(call, communicator.topology()) == pattern_) return;
  tell("rank " + std::to_string(communicator.rank()) +
       ": lnw_fixed_counts=true promised that counts, displacements and layouts of datatypes on this communicator "
       "never change, but they differ from those of the first call of this operation");
  MPI_Abort(order_->comm()->get(), MPI_ERR_ARG);
  std::abort();
}

std::unique_ptr<NonblockingExchange> FixedOperation::start(Buffers buffers, Helper helper) const {
  return bound_ ? std::make_unique<NonblockingExchange>(order_, bound_, buffers, helper)
                : std::make_unique<NonblockingExchange>(order_, plan_, buffers, glance_at(buffers, *plan_, device_use_),
                                                        nullptr, helper);
}

FixedOperation& fixed_operation(Communicator& communicator, const FixedKey& key, const Call& call,
                                FixedOperation::Choice choice, Phases phases) {
  if (plans_of_calls(communicator).split_phases_relay) phases = Phases::one;
  auto& all = communicator.attachment<FixedOperations>().of[static_cast<std::size_t>(phases)];
  const auto known = all.find(key);
  if (known != all.end()) return *known->second;
  // All ranks have it or none.
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  const auto make = [&] {
    std::unique_ptr<FixedOperation>& made = all[key];
    made = std::make_unique<FixedOperation>(communicator, call, choice, phases);
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
