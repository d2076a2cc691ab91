#pragma once

#include <memory>

#include "operations/choose/agreed.hpp"
#include "operations/pipeline/family.hpp"

namespace laneway {

/// Of all candidates, each a strategy on a memory path, the one to run the operation by, as a plan that is ready to be
/// bound. First the path: the one that is left or, of several, the one of the least predicted cost; messages inside the
/// node are lent only where the parameters do not predict that this is slower. On that path the strategy that the hints
/// ask for: the one named; with lnw_strategy=auto that of the least predicted cost or, under lnw_tune=measure, the
/// fastest of the few most promising in exchanges made here. `by_messages` becomes the plan of an exchange before
/// anything else carries it; null: not known. Collective.
[[nodiscard]] Chosen choose(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Use use,
                            std::shared_ptr<const Plan>& by_messages);

}  // namespace laneway
