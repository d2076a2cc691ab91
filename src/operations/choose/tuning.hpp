#pragma once

#include <optional>

#include "operations/choose/planning.hpp"

namespace laneway {

/// Of the strategies of `candidate` the one that is the fastest, of the few most promising, in exchanges made here.
/// What was measured is remembered in the tuning file (docs/concepts/choosing.md). As make_plan and localize, which are
/// left with all reasons. `made`: what make_plan has already made of the candidate. Collective.
[[nodiscard]] Planned measure(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                              const Candidate& candidate, const NodeUse& use, std::optional<Planned> made);

}  // namespace laneway
