#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/collective/choice.hpp"
#include "operations/choose/planning.hpp"
#include "operations/choose/reasons.hpp"
#include "operations/collective/checked.hpp"
#include "operations/collective/knowledge.hpp"
#include "operations/pipeline/family.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// The name of the way of BundledAlltoall. Where the nodes cannot, MPI's own operation runs.
inline constexpr std::string_view bundled = "bundled";

/// What a call may do, which all ranks know.
struct DenseMay {
  Phases phases = Phases::one;
  bool ask_others = true;   ///< for sizes of blocks
  bool know_mean = false;   ///< the facts have the mean of all blocks, which all ranks have agreed on, and which stays
  bool use_memory = false;  ///< that ranks of a node share, if they can
  bool exceed_limit = false;  ///< pass on more than lnw_staging_limit
};
/// That of a blocking one, which is planned once for all with such arguments.
[[nodiscard]] inline DenseMay may_once(const CheckedCollective& checked) {
  return {.use_memory = checked.is_of_one_rule()};
}

/// MPI's own operation and, where costs are to choose, the rules that are right for such calls. From facts that all
/// ranks share alone, so that all find the same. Local.
[[nodiscard]] Candidates candidates_of(const DenseKnowledge& known, const CheckedCollective& checked,
                                       const DenseMay& may);
/// With the costs of all rules, the fastest first.
[[nodiscard]] Candidates weighed(const DenseKnowledge& known, const DenseFacts& facts, OnNode on_node);

[[nodiscard]] DenseSettings settings_of(const Hints& hints);

/// Whether ranks must ask others for sizes before they can plan.
[[nodiscard]] bool asks_for_sizes(const DenseRule& rule, DenseKind kind);

/// The plan of this rank; not packed. Collective where the rule asks for sizes, else local.
[[nodiscard]] Plan plan_dense(const DenseKnowledge& known, const DenseRule& rule, const PrivateComm& comm,
                              const CheckedCollective& checked);

/// The plan that uses the memory of the node, if its ranks can share any; packed. Collective.
[[nodiscard]] Planned plan_on_node(Communicator& communicator, const PrivateComm& comm, const DenseKnowledge& known,
                                   Plan plan);

/// That of a rank, which knows nothing of devices.
[[nodiscard]] ReadyPlan ready_plan(const CheckedCollective& checked, std::shared_ptr<const Plan> plan,
                                   std::shared_ptr<PlanMemory> memory = nullptr);

/// Bindings of a plan of blocking calls.
inline constexpr std::size_t bindings_of_blocking = 4;

/// As it runs: what lies scattered is packed where messages need it together.
[[nodiscard]] std::shared_ptr<const Plan> packed(Plan plan);

}  // namespace laneway
