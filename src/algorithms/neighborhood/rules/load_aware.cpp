#include <tuple>

#include "algorithms/neighborhood/balance.hpp"

namespace laneway::lanes::load_aware {

namespace {

/// Relaying balanced by load, for large messages. After Ghazimirsaeed, Ruhela, Ramesh, Bayatpour, Subramoni, Panda: A
/// Hierarchical and Load-Aware Design for Large Message Neighborhood Collectives, SC 2020, which was known by its title
/// only: this is a design of our own on that idea.
///
/// What enters a region is dealt to its members in equal quotas. The traffic from other regions, largest first, fills
/// the quotas one after another; among members with quota left, the one that needs most of it itself comes first, then
/// the one that is nearest to a network interface. Data is cut only where a quota ends, so that there are fewer lanes
/// than other regions and members together, and all members receive equally much up to the size of a cut. Sent bytes
/// are balanced over the sending region lane by lane.
class LoadAware final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::int64_t total = 0;
    for (const Traffic& traffic : view.in) total += traffic.bytes();
    const auto members = static_cast<std::int64_t>(view.region.members.size());
    Quotas quotas;
    for (std::size_t i = 0; i < view.region.members.size(); ++i)
      quotas[view.region.members[i]] = {(total + members - 1) / members, view.distance_of(i)};
    std::vector<Lane> lanes;
    for (std::size_t i : largest_first(view.in, [](const Traffic& traffic) { return traffic.bytes(); }))
      deal(view.in[i], view.region.id, quotas, lanes);
    return lanes;
  }

  void assign_senders(const RegionView& view, const std::vector<Lane>& incoming,
                      std::vector<Lane>& lanes) const override {
    balance_senders(view, incoming, lanes);
  }

 private:
  struct Quota {
    std::int64_t left = 0;
    int distance = 0;
  };
  using Quotas = std::map<Rank, Quota>;

  static void deal(const Traffic& traffic, Rank region, Quotas& quotas, std::vector<Lane>& lanes) {
    const BytesOf need = needs(traffic);
    auto quota = quotas.end();
    for (const SourceBytes& source : traffic.sources)
      for (std::int64_t begin = 0; begin < source.bytes;) {
        if (quota == quotas.end() || quota->second.left <= 0) {
          quota = std::max_element(quotas.begin(), quotas.end(), [&](const auto& a, const auto& b) {
            auto key = [&](const auto& q) {
              return std::tuple(q.second.left > 0, bytes_of(need, q.first), -q.second.distance, q.second.left);
            };
            return key(a) < key(b);
          });
          lanes.push_back({traffic.region, region, -1, quota->first, {}});
        }
        // Rounded up, so that the quotas always hold everything.
        const std::int64_t bytes = std::min(source.bytes - begin, round_up_to_cut(quota->second.left));
        lanes.back().pieces.push_back({source.rank, begin, begin + bytes});
        begin += bytes;
        quota->second.left -= bytes;
      }
  }
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"load_aware", "what a region receives is dealt to its members in equal quotas, cut only where a quota ends",
           "after Ghazimirsaeed, Ruhela, Ramesh, Bayatpour, Subramoni, Panda: A Hierarchical and Load-Aware Design for "
           "Large Message Neighborhood Collectives, SC 2020 (known by title)",
           "all, large messages", "any", Traits{.scales = false}, new_strategy<LoadAware>, 5}};
}

}  // namespace laneway::lanes::load_aware
