#include "algorithms/neighborhood/balance.hpp"

namespace laneway::lanes::tiny {

namespace {

/// One lane for each region that sends to this one, all received by the first member.
class Tiny final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    for (const Traffic& traffic : view.in) {
      Lane lane{traffic.region, view.region.id, -1, view.region.members.front(), {}};
      for (const SourceBytes& source : traffic.sources) lane.pieces.push_back({source.rank, 0, source.bytes});
      lanes.push_back(std::move(lane));
    }
    return lanes;
  }
  void assign_senders(const RegionView& view, const std::vector<Lane>& incoming,
                      std::vector<Lane>& lanes) const override {
    balance_senders(view, incoming, lanes);
  }
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"tiny", "one lane for each pair of regions", "a test", "all", "any", Traits{}, new_strategy<Tiny>}};
}

}  // namespace laneway::lanes::tiny
