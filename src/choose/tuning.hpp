#pragma once

#include <optional>

#include "choose/planning.hpp"

namespace laneway {

/// As make_plan and localize, with the strategy of the outermost level that the hints ask for: the one named; with
/// lnw_strategy=auto that of the least predicted cost or, under lnw_tune=measure, the fastest of the few most promising
/// in exchanges made here. What was measured is remembered in the tuning file (docs/models.md). Collective.
/// `made`: what make_plan has already made of `agreed`.
[[nodiscard]] Planned make_tuned_plan(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                                      std::optional<Planned> made = std::nullopt);

}  // namespace laneway
