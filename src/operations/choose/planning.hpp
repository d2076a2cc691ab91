#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/planner/planner.hpp"
#include "algorithms/planner/route.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/choose/reasons.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/memory.hpp"

namespace laneway {

/// A strategy for the outermost level, or several of which costs choose, on a memory path.
struct StrategyOnPath {
  StrategyChoice strategy;
  MemoryPath path = MemoryPath::staged;

  friend bool operator==(const StrategyOnPath&, const StrategyOnPath&) = default;
};

/// Those that the hints leave.
[[nodiscard]] StrategyOnPath strategies_on(MemoryPath path, Communicator& communicator, const PrivateComm& comm,
                                           const Agreed& agreed);

struct Planned {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<PlanMemory> memory = {};  ///< null if the plan uses none
  std::string strategy = {};                ///< the one on the outermost level
  Reasons reasons = {};
};

/// Null if something has to be learnt from other ranks first. Local.
[[nodiscard]] std::shared_ptr<Planning> begin_planning(Communicator& communicator, const PrivateComm& comm,
                                                       const Agreed& agreed);
/// Its first round, which goes with the agreement: `planner` lets the first rank choose.
struct FirstRound {
  Planner* planner = nullptr;
  std::vector<ControlMessage> control_messages = {};
};
[[nodiscard]] FirstRound first_round(Planning& planning);
/// With what the agreement has brought.
void go_on(Planning& planning, Round round);

/// Leaves to costs which of the strategies it is, and which are on the levels inside, and makes the plan, in which
/// messages move everything. Collective.
[[nodiscard]] Planned make_plan(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                                const StrategyOnPath& strategies);

/// The way of the data of an operation whose edges all have `unit` bytes.
struct PlannedRoute {
  std::shared_ptr<const Route> route;  ///< null: each edge is one message
  std::string_view strategy;
  std::int64_t staging_bytes = 0;  ///< for edges of that size
};
/// As make_plan, for the outermost level: messages carry everything, from and to the host's memory.
[[nodiscard]] PlannedRoute plan_route(Communicator& communicator, const PrivateComm& comm, const Hints& hints,
                                      RankPattern pattern, std::int64_t unit);

/// What a plan has of the memory of the node.
struct NodeUse {
  MemoryPath path = MemoryPath::staged;
  LocalOptions local;
  std::int64_t shared_staging = 0;              ///< as in Hints
  std::shared_ptr<PlanMemory> connection = {};  ///< by which a carrier brings all messages between devices; or null
  std::span<const PlanEvent> events = {};
};

/// Turns the plan into one that reduces, if that is what the operation does and it does not yet, gives it its events,
/// and lets it use the memory of the node, if its ranks can share any, and memory that it shares with other plans; what
/// messages carry after that is packed. Collective.
void localize(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, const NodeUse& use,
              Planned& planned);

}  // namespace laneway
