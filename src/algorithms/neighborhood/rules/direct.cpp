#include "algorithms/neighborhood/strategy.hpp"

namespace laneway::lanes::direct {

namespace {

class Direct final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView&) const override { return {}; }
  void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>&) const override {}
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"direct", "each edge is one message from its source to its destination",
           "MPI: A Message-Passing Interface Standard 4.0, section 8.6", "all", "any", Traits{.relays = false},
           new_strategy<Direct>, 0}};
}

}  // namespace laneway::lanes::direct
