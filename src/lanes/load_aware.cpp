#include <tuple>

#include "lanes/balance.hpp"

namespace laneway {

namespace {

/// Relaying balanced by load, for large messages. After Ghazimirsaeed, Ruhela, Ramesh, Bayatpour, Subramoni, Panda: A
/// Hierarchical and Load-Aware Design for Large Message Neighborhood Collectives, SC 2020, which was known by its title
/// only: this is a design of our own on that idea.
///
/// What enters a region is dealt to its members in equal quotas. The links, largest first, fill the quotas one after
/// another; among members with quota left, the one that needs most of the link itself comes first. A link's data is cut
/// only where a quota ends, so that there are fewer lanes than links and members together, and all members receive
/// equally much up to the size of a cut. Sent bytes are balanced over the sending region lane by lane.
class LoadAware final : public Strategy {
 public:
  [[nodiscard]] bool scales() const override { return false; }

  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::int64_t total = 0;
    for (const Link& link : view.in) total += link.bytes();
    const auto members = static_cast<std::int64_t>(view.region.members.size());
    BytesOf quota;
    for (Rank member : view.region.members) quota[member] = (total + members - 1) / members;
    std::vector<Lane> lanes;
    for (std::size_t i : largest_first(view.in, [](const Link& link) { return link.bytes(); }))
      deal(view.in[i], view.region.id, quota, lanes);
    return lanes;
  }

  void assign_senders(const RegionView& view, std::vector<Lane>& lanes) const override { balance_senders(view, lanes); }

 private:
  static void deal(const Link& link, Rank region, BytesOf& quota, std::vector<Lane>& lanes) {
    const BytesOf need = needs(link);
    auto left = quota.end();
    for (const SourceBytes& source : link.sources)
      for (std::int64_t begin = 0; begin < source.bytes;) {
        if (left == quota.end() || left->second <= 0) {
          left = std::max_element(quota.begin(), quota.end(), [&](const auto& a, const auto& b) {
            auto key = [&](const auto& q) { return std::tuple(q.second > 0, bytes_of(need, q.first), q.second); };
            return key(a) < key(b);
          });
          lanes.push_back({link.region, region, -1, left->first, {}});
        }
        // Rounded up, so that the quotas always hold everything.
        const std::int64_t bytes = std::min(source.bytes - begin, round_up_to_cut(left->second));
        lanes.back().pieces.push_back({source.rank, begin, begin + bytes});
        begin += bytes;
        left->second -= bytes;
      }
  }
};

}  // namespace

std::unique_ptr<Strategy> make_load_aware(const StrategySettings&) {
  return std::make_unique<LoadAware>();
}

}  // namespace laneway
