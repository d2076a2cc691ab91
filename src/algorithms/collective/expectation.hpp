#pragma once

#include <span>
#include <vector>

#include "algorithms/collective/call.hpp"
#include "algorithms/collective/layout.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {

/// What the calls of all ranks say about receive buffers, for verify: independent of any rule.
[[nodiscard]] std::vector<std::vector<DenseOutcome>> expected_outcomes(std::span<const DenseCall> calls);

}  // namespace laneway
