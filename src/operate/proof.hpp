#pragma once

#include <string>
#include <string_view>

#include "comm/communicator.hpp"
#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// More ranks than this prove no plans: rank 0 would hold all.
inline constexpr Rank most_ranks_proven = 512;

/// For the hint lnw_check=plan: gathers the plans that will run, and what they are for, on rank 0, which proves them
/// and writes to standard error what is proven, or that nothing is. `how`: of an operation that reduces. Collective.
/// Throws Error(internal) on all ranks with the first fault that is found. `what`: the strategy, for that line.
void prove_plans(const PrivateComm& comm, const Plan& plan, const RankPattern& pattern, std::string_view what,
                 const Combination* how = nullptr);

}  // namespace laneway
