#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/planner/planner.hpp"
#include "machine/machine.hpp"
#include "plan/pattern.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/local_options.hpp"

namespace laneway {

/// What one rank's setup cost.
struct SetupCost {
  std::int64_t control_messages_sent = 0;
  std::int64_t control_bytes_sent = 0;
  std::int64_t region_gathers = 0;
  std::int64_t region_gather_bytes = 0;  ///< of all contributions that this rank holds
  double processor_seconds = 0;          ///< of its planner, in this process
};

/// By rank.
struct VirtualSetup {
  std::vector<Plan> plans;
  std::vector<SetupCost> costs;
  std::vector<RegionView> views;  ///< of each rank's region
  std::vector<Itinerary> itineraries;
  Selection selection;                         ///< the same on all ranks
  std::vector<const StrategyRow*> strategies;  ///< of the outermost level, if they are those of a choice
};

/// Runs the setup of all ranks of `pattern` in this process, with regions from level 0 of `machine`, and `inner`
/// strategies for the levels after it. Messages are moved between the planners; their code is the one that runs over
/// MPI.
[[nodiscard]] VirtualSetup plan_virtual_ranks(const Pattern& pattern, const Machine& machine, const Strategy& strategy,
                                              const PlanOptions& options = {},
                                              std::span<const Strategy* const> inner = {});

/// The same with the strategies and levels of a choice; `machine` is the grid where the choice works on one, and its
/// links between devices are known to the strategies. `parameters` are needed where a strategy is to be chosen; ranks
/// of a node are taken to share memory. `ranks`: as in PlanOptions. `on_devices`: messages inside a node take the links
/// between its devices instead, if the machine describes them.
[[nodiscard]] VirtualSetup plan_virtual_ranks(const Pattern& pattern, const Machine& machine, const Levels& levels,
                                              const StrategySettings& settings = {},
                                              const LoweringOptions& lowering = {},
                                              const Parameters* parameters = nullptr, Rank ranks = 0,
                                              bool on_devices = false);

/// What one rank sends and receives, without that of others being known: it is asked for the same rank several times.
using PatternOf = std::function<RankPattern(Rank)>;

/// The same plans and costs of `ranks` (ascending) only. Planned are their regions, and others as far as these hear of
/// them: with lanes, the regions that send to them; of what all these send to, the lanes; and of what sends to those,
/// the sizes. Nothing grows with the number of ranks. Where a strategy is to be chosen, the regions of `ranks` choose
/// for all, by `model`.
[[nodiscard]] VirtualSetup plan_some_virtual_ranks(const PatternOf& pattern, const Machine& machine,
                                                   const Levels& levels, std::span<const Rank> ranks,
                                                   const StrategySettings& settings = {},
                                                   const LoweringOptions& lowering = {},
                                                   const Parameters* parameters = nullptr,
                                                   ModelKind model = ModelKind::overlap);

/// Lets what moves inside nodes go through their memory. `nodes[r]`: the ranks that share memory with rank r.
[[nodiscard]] std::vector<Plan> localize_virtual_ranks(std::vector<Plan> plans, std::span<const Region> nodes,
                                                       const LocalOptions& options = {});
/// With options of each rank's own.
[[nodiscard]] std::vector<Plan> localize_virtual_ranks(std::vector<Plan> plans, std::span<const Region> nodes,
                                                       std::span<const LocalOptions> options);

}  // namespace laneway
