#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "operations/choose/planning.hpp"
#include "operations/choose/trial.hpp"

namespace laneway {

/// With the plans that a trial is to run.
using PlannedCandidates = std::vector<std::pair<Candidate, Planned>>;

/// The fastest strategy in exchanges made here of what `plan` gives, unless one of the candidates is remembered in the
/// tuning file (docs/concepts/choosing.md), which what is found is, too. None where some rank has no memory to run
/// exchanges in. Collective.
[[nodiscard]] std::optional<TrialResult> measure(const PrivateComm& comm, const Agreed& agreed,
                                                 const std::vector<Candidate>& candidates,
                                                 const std::function<PlannedCandidates()>& plan);

}  // namespace laneway
