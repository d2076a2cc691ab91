#pragma once

#include <span>
#include <string>

#include "output/report.hpp"

namespace laneway::bench {

/// Fills in what follows from the samples of all results together. Those without samples stay as they are.
void evaluate(std::span<Result> results);

/// The cases, which have the same candidates, one after another: samples, setups, messages, bytes and memory added up.
/// The largest of any rank (`_max`) is the sum of each case's largest. Not for no cases.
[[nodiscard]] CaseReport total(std::span<const CaseReport> cases);

}  // namespace laneway::bench
