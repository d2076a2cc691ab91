#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "communicator/arguments/dense_blocks.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/choose/planning.hpp"
#include "operations/choose/reasons.hpp"
#include "operations/collective/knowledge.hpp"

namespace laneway {

/// How a call runs.
struct DenseDecision {
  const DenseRule* rule = nullptr;  ///< null: MPI's own operation
  Reasons reasons;
  bool may_be_tried = false;  ///< a trial may come to another end: no hint and no want decides it
};

/// What a call is, as far as all ranks know it.
struct DenseAsk {
  DenseKind kind = DenseKind::barrier;
  DenseFacts facts;
  Phases phases = Phases::one;
  bool may_ask_others = true;          ///< for sizes of blocks
  bool knows_mean = false;             ///< facts.bytes is a mean that all ranks have agreed on, and stays
  bool in_memory = false;              ///< ranks of a node use memory that they share, if they can
  bool limits_staging = true;          ///< what passes on more than lnw_staging_limit is not taken
  const char* uncombinable = nullptr;  ///< why this library cannot combine it
};

/// From facts that all ranks share alone, so that all decide the same. Local.
[[nodiscard]] DenseDecision decide(const DenseKnowledge& known, const Hints& hints, const DenseAsk& ask);

/// Those of a call; `mean_bytes` stands for sizes of blocks that no rank knows all of.
[[nodiscard]] DenseFacts facts_of(const CollectiveCall& call, const CheckedCollective& checked, Rank ranks,
                                  const std::optional<DenseReduction>& reduction, std::int64_t mean_bytes);

[[nodiscard]] DenseSettings settings_of(const Hints& hints);

/// Whether ranks must ask others for sizes before they can plan.
[[nodiscard]] bool asks_for_sizes(const DenseRule& rule, DenseKind kind);

/// The plan of this rank; not packed. Collective where the rule asks for sizes, else local.
[[nodiscard]] Plan plan_dense(const DenseKnowledge& known, const DenseRule& rule, const PrivateComm& comm,
                              const CollectiveCall& call, DenseCall blocks, const DenseSettings& settings);

/// The plan that uses the memory of the node, if its ranks can share any; packed. Collective.
[[nodiscard]] Planned plan_on_node(Communicator& communicator, const PrivateComm& comm, const DenseKnowledge& known,
                                   const Hints& hints, Plan plan);

/// As it runs: what lies scattered is packed where messages need it together.
[[nodiscard]] std::shared_ptr<const Plan> packed(Plan plan);

}  // namespace laneway
