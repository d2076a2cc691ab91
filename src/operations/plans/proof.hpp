#pragma once

#include <string>
#include <string_view>

#include "algorithms/collective/call.hpp"
#include "communicator/communicator.hpp"
#include "plan/pattern.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// More ranks than this prove no plans: rank 0 would hold all.
inline constexpr Rank most_ranks_proven = 512;

/// For the hint lnw_check=plan: gathers the plans that will run, and what they are for, on rank 0, which proves them
/// and writes to standard error what is proven, or that nothing is. `how`: of an operation that reduces. Collective.
/// Throws Error(internal) on all ranks with the first fault that is found. `what`: the strategy, for that line.
void prove_plans(const PrivateComm& comm, const Plan& plan, const RankPattern& pattern, std::string_view what,
                 const Combination* how = nullptr);

/// The same for plans of an operation among all ranks, of which this is the rank's call; of a barrier also that nobody
/// leaves before all have come.
void prove_dense_plans(const PrivateComm& comm, const Plan& plan, const DenseCall& call, std::string_view what);

}  // namespace laneway
