#pragma once

#include <cstddef>

#include "algorithms/planner/planner.hpp"

namespace laneway {

/// What it takes to find lanes and costs of so many strategies; simulated processors take no time for it.
[[nodiscard]] double seconds_of_choice(std::size_t strategies, std::size_t edges, std::size_t ranks);

/// The fastest that makes up for its setup within so many exchanges, against those that need none. What remains to be
/// done for a plan that relays takes no longer than learning the costs has, which is done already.
[[nodiscard]] std::size_t best_of(const Selection& selection, const Strategies& strategies, const PlanOptions& options);

}  // namespace laneway
