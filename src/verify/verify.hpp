#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/types.hpp"
#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// What a prover found; `problems` holds the first few, each naming its rank and step.
struct [[nodiscard]] Report {
  bool ok = true;
  std::vector<std::string> problems;
};

/// One problem a line; "ok" if there is none.
[[nodiscard]] std::string to_string(const Report& report);

// Each prover takes the plans of all ranks (plans[r] is rank r's) and proves one property. All but `well_formed` expect
// well-formed plans and return the report of `well_formed` otherwise.

/// Steps depend on earlier steps only, stay inside the staging memory, never write the send buffer nor read the receive
/// buffer, and name peers and channels that exist.
Report well_formed(std::span<const Plan> plans);

/// The k-th send of every (source, destination, channel) has a k-th receive of the same size, and the messages of one
/// channel start in plan order on both sides: each after its predecessor, or after all that this waits for.
Report matching(std::span<const Plan> plans);

/// Any two steps of a rank that touch the same byte, one of them writing, are ordered by dependencies; no copy overlaps
/// itself.
Report race_free(std::span<const Plan> plans);

/// No order in which messages complete can leave a step waiting forever, even if no send completes before its receive
/// has started.
Report deadlock_free(std::span<const Plan> plans);

/// After the exchange every receive place of the pattern holds the byte that the pattern says, no other byte of a
/// receive buffer was written, and no step has read a staging byte that nothing wrote. Shown for one order of the
/// steps; with `race_free` it holds for all.
Report delivers(std::span<const Plan> plans, std::span<const RankPattern> pattern);

/// All of the above, in that order; stops after the first that fails.
Report verify(std::span<const Plan> plans, std::span<const RankPattern> pattern);

struct [[nodiscard]] Crossing {
  Report report;
  std::int64_t bytes = 0;          ///< that cross between regions
  std::int64_t minimal_bytes = 0;  ///< the unique bytes that each region needs from each other region
};

/// Between every two regions each byte of a source that the pattern asks for crosses exactly once, and nothing else
/// does. Only strategies that deduplicate promise this.
Crossing crosses_once(std::span<const Plan> plans, std::span<const RankPattern> pattern,
                      std::span<const Rank> region_of_rank);

}  // namespace laneway
