#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes/types.hpp"
#include "plan/pattern.hpp"
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
// well-formed plans and return the report of `well_formed` otherwise. Plans may be those that run: where ranks touch
// each other's memory, as many exchanges are unrolled as there are places in turn, and one more, each rank one after
// another at its own pace.

/// Steps depend on earlier steps only, stay inside the staging memory and the windows, never write the send buffer nor
/// read the receive buffer (those that combine, and those of operations among all ranks, may), and name peers and
/// channels that exist.
Report well_formed(std::span<const Plan> plans);

/// The k-th send of every (source, destination, channel) has a k-th receive of the same size, and the messages of one
/// channel start in plan order on both sides: each after its predecessor, or after all that this waits for. In every
/// exchange, each word of a window is raised by one step and awaited by one, always the same two, of the same size; a
/// gate waits for a word that is raised.
Report matching(std::span<const Plan> plans);

/// Any two steps that touch the same byte in one exchange, one of them writing, are ordered: by dependencies, or by
/// words that one rank raises and another waits for; no move overlaps itself, and no data a word. A step that touches
/// memory that an event is about comes after that if it comes in, and before it if it goes out.
Report race_free(std::span<const Plan> plans);

/// No order in which messages complete can leave a step waiting forever, even if no send completes before its receive
/// has started.
Report deadlock_free(std::span<const Plan> plans);

/// No place is written before all who use it in an earlier exchange are done. A rank has completed its exchange only
/// when nobody reads its send buffer. Where plans share staging memory, nothing is written there before its rank has
/// found that all readers of the exchange before are done.
Report reuses_safely(std::span<const Plan> plans);

/// After each exchange every receive place of the pattern holds the byte that the pattern says, of this exchange, no
/// other byte of a receive buffer was written, and no step has read a byte that nothing wrote. Shown for one order of
/// the steps; with `race_free` and `reuses_safely` it holds for all.
///
/// `how`: what arrives is combined with what the receive buffer holds before, all that is named for a place exactly
/// once. Where it is in order, what a place holds comes first, and then by rank, by edge and by position in the edge.
Report delivers(std::span<const Plan> plans, std::span<const RankPattern> pattern, const Combination* how = nullptr);

/// All of the above, in that order; stops after the first that fails.
Report verify(std::span<const Plan> plans, std::span<const RankPattern> pattern, const Combination* how = nullptr);

/// A byte that is contributed to a place: of a rank's send buffer, or of what its receive buffer holds before.
struct Contribution {
  Rank rank = 0;
  std::int64_t offset = 0;
  bool received = false;
};

/// What bytes of a receive buffer are after an exchange: so many contributions combined, each of as many bytes. Where
/// operands are in order, in this one.
struct DenseOutcome {
  Range place;
  std::vector<Contribution> contributions;
};

/// The same for plans of operations among all ranks, which may also read the receive buffer: what it held before where
/// nothing has been written yet. `outcomes`: by rank, ascending and disjoint; no other byte may be written.
Report verify_outcomes(std::span<const Plan> plans, std::span<const std::vector<DenseOutcome>> outcomes,
                       const Combination* how = nullptr);

/// No rank has completed its exchange before each has started: what a barrier promises.
Report synchronizes(std::span<const Plan> plans);

struct [[nodiscard]] Crossing {
  Report report;
  std::int64_t bytes = 0;          ///< that cross between regions
  std::int64_t minimal_bytes = 0;  ///< the unique bytes that each region needs from each other region
};

/// Between every two regions each byte of a source that the pattern asks for crosses exactly once, and nothing else
/// does. Only strategies that deduplicate promise this. For plans that combine nothing.
Crossing crosses_once(std::span<const Plan> plans, std::span<const RankPattern> pattern,
                      std::span<const Rank> region_of_rank);

}  // namespace laneway
