#include "algorithms/neighborhood/balance.hpp"

namespace laneway::lanes::three_step {

namespace {

/// Three-step aggregation (Collom, Li, Bienz: Optimizing Irregular Communication with Neighborhood Collectives and
/// Locality-Aware Parallelism, section 3.2, Algorithm 4: one lane for each ordered pair of regions, the other regions
/// dealt over the ranks of a region by size).
class ThreeStep final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    for (const Traffic& traffic : view.in) {
      Lane lane{traffic.region, view.region.id, -1, -1, {}};
      for (const SourceBytes& source : traffic.sources) lane.pieces.push_back({source.rank, 0, source.bytes});
      lanes.push_back(std::move(lane));
    }
    Balance balance(view);
    for (std::size_t i : largest_first(view.in, [](const Traffic& traffic) { return traffic.bytes(); }))
      lanes[i].receiver = balance.choose(view.in[i].bytes(), needs(view.in[i]));
    return lanes;
  }

  void assign_senders(const RegionView& view, const std::vector<Lane>& incoming,
                      std::vector<Lane>& lanes) const override {
    balance_senders(view, incoming, lanes);
  }
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"three_step", "gather at one rank, one message for each pair of regions, scatter from one rank",
           "Collom, Li, Bienz: Optimizing Irregular Communication with Neighborhood Collectives and Locality-Aware "
           "Parallelism, section 3.2",
           "all", "any", Traits{}, new_strategy<ThreeStep>, 2}};
}

}  // namespace laneway::lanes::three_step
