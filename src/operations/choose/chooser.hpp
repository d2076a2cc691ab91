#pragma once

#include "operations/choose/trial.hpp"
#include "operations/pipeline/family.hpp"

namespace laneway {

/// One of the candidates, and why: the only one; the fastest of a trial; or that of the least cost. `found`: null
/// where nothing has been tried. Local.
[[nodiscard]] Reasons pick(Candidates candidates, const TrialResult* found, Use use = Use::calls);

/// The plan that a call of the family is run by. Collective.
[[nodiscard]] Chosen choose(AlgorithmFamily& family, Use use);

}  // namespace laneway
