#include "algorithms/neighborhood/strategy.hpp"

namespace laneway::lanes::spread {

namespace {

/// Direct messages in another order. After Khorassani, Chen, Subramoni, Panda: Designing and Optimizing GPU-aware
/// Nonblocking MPI Neighborhood Collective Communication, 2023, which was known by its title only: this is a design of
/// our own on the idea that not all sources should start with the same destination.
///
/// Each rank starts with the first destination after itself and goes round by ascending rank, as in the usual
/// all-to-all by shifts; no rank needs the size of the communicator for it.
class Spread final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView&) const override { return {}; }
  void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>&) const override {}
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"spread", "as direct, but each rank starts with the destinations after itself",
           "after Khorassani, Chen, Subramoni, Panda: Designing and Optimizing GPU-aware Nonblocking MPI Neighborhood "
           "Collective Communication, 2023 (known by title)",
           "all", "any", Traits{.relays = false, .spreads = true}, new_strategy<Spread>, 1}};
}

}  // namespace laneway::lanes::spread
