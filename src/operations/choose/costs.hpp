#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "algorithms/cost/cost_model.hpp"
#include "algorithms/planner/planner.hpp"
#include "communicator/communicator.hpp"
#include "communicator/hints/hints.hpp"
#include "operations/choose/reasons.hpp"

namespace laneway {

/// The links between devices, as described or, where no machine is, as found; null if nothing is known of them.
[[nodiscard]] std::shared_ptr<const Fabric> fabric_of(Communicator& communicator, const Hints& hints);

/// Whether messages take the links between devices. In simulations, ranks may be devices, whatever the path.
[[nodiscard]] bool is_between_devices(MemoryPath path);

/// The choice that the hints leave to planners: `direct` where all ranks are in one region, so that no strategy would
/// relay. `by_links`: whether messages in a node take links between devices that the machine describes.
[[nodiscard]] StrategyChoice choose_from(const Hints& hints, const Region& outermost, Rank ranks,
                                         bool by_links = false);

/// Whether the parameters say what the links between devices carry.
[[nodiscard]] bool knows_device_links(Communicator& communicator, const PrivateComm& comm, const Hints& hints,
                                      const Region& sharing);

/// Those of the machine that the communicator's ranks are on. `sharing`: the ranks that share memory with this one.
[[nodiscard]] std::shared_ptr<const Parameters> parameters_of(Communicator& communicator, const PrivateComm& comm,
                                                              const Hints& hints, const Region& sharing);

/// Whether some level leaves its strategy to the costs; otherwise plans do not depend on them.
[[nodiscard]] bool is_chosen_by_costs(const Hints& hints, const StrategyChoice& outermost);

/// The strategies that a choice stands for, without costs.
[[nodiscard]] std::vector<Candidate> candidates_of(const StrategyChoice& choice);

/// A limit, where a byte of the pattern stands for so many; 0 stays none.
[[nodiscard]] constexpr std::int64_t in_units(std::int64_t bytes, std::int64_t unit_bytes) {
  return bytes == 0 ? 0 : std::max<std::int64_t>(1, bytes / unit_bytes);
}

/// What planners need to choose between strategies, if the hints leave anything to choose.
class Costs {
 public:
  /// `outermost`: as of choose_from. `sharing`: the ranks that share memory with this one; no members where messages
  /// carry everything. `unit_bytes`: what a byte of the pattern stands for. `combines`: see CostOptions. The hints must
  /// outlive the object.
  Costs(Communicator& communicator, const PrivateComm& comm, const Hints& hints, const StrategyChoice& outermost,
        const Region& sharing, MemoryPath path = MemoryPath::staged, std::int64_t unit_bytes = 1,
        bool combines = false);

  /// Valid as long as the object.
  [[nodiscard]] PlanOptions options() const;
  /// Where the hints leave the strategy to costs, these, too.
  [[nodiscard]] Reasons reasons(const Selection& selection) const;

 private:
  const Hints& hints_;
  const Rank ranks_;
  const StrategyChoice outermost_;
  std::shared_ptr<const Parameters> parameters_;  ///< null: there is nothing to choose
  std::optional<CostModel> model_;
};

}  // namespace laneway
