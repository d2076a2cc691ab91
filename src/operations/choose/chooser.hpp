#pragma once

#include <memory>

#include "operations/choose/agreed.hpp"
#include "operations/choose/device_support.hpp"
#include "operations/choose/planning.hpp"
#include "operations/pipeline/family.hpp"

namespace laneway {

struct ChosenPlan {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<PlanMemory> memory;  ///< null if the plan uses none
  Reasons reasons;                     ///< the path among them
  DeviceUse device_use;
  std::shared_ptr<const Plan> by_messages = {};  ///< of an exchange, before anything else carries it; null: not known
};

/// Of all candidates, each a strategy on a memory path, the one to run the operation by, as a plan that is ready to be
/// bound. First the path: the one that is left or, of several, the one of the least predicted cost; messages inside the
/// node are lent only where the parameters do not predict that this is slower. On that path the strategy that the hints
/// ask for: the one named; with lnw_strategy=auto that of the least predicted cost or, under lnw_tune=measure, the
/// fastest of the few most promising in exchanges made here. Collective.
[[nodiscard]] ChosenPlan choose(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Use use);

}  // namespace laneway
