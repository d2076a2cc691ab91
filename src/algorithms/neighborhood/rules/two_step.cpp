#include <algorithm>
#include <tuple>

#include "algorithms/neighborhood/strategy.hpp"

namespace laneway::lanes::two_step {

namespace {

/// Two-step aggregation (Lockhart, Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies for
/// irregular point-to-point communication on heterogeneous architectures, section 2.3.2): each rank that has data for a
/// region sends all of it to the rank of that region that it is paired with, which redistributes it.
///
/// The paper pairs ranks of equal nodes, all of which send. Here regions differ in size, and few ranks of one may send.
/// With m receiving members, the j-th source of a region is paired with the (j mod m)-th member as long as every member
/// gets one; the sources that are left, fewer than m, go to different members that have the fewest lanes so far, those
/// first that are nearest to a network interface, and evenly spaced where there is a choice. So no member ends two
/// lanes more than another.
class TwoStep final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    const std::size_t members = view.region.members.size();
    std::vector<std::size_t> count(members, 0);
    std::vector<Lane> lanes;
    for (const Traffic& traffic : view.in) {
      const std::size_t sources = traffic.sources.size();
      const std::size_t left = sources % members;
      const std::size_t paired = sources - left;
      std::vector<bool> taken(members, false);
      for (std::size_t j = 0; j < sources; ++j) {
        std::size_t chosen = j % members;
        if (j >= paired) {
          const std::size_t wanted = (j - paired) * members / left;
          auto key = [&](std::size_t i) {
            return std::tuple(bool(taken[i]), count[i], view.distance_of(i), (i + members - wanted) % members);
          };
          for (std::size_t i = 0; i < members; ++i)
            if (key(i) < key(chosen)) chosen = i;
          taken[chosen] = true;
        }
        ++count[chosen];
        const SourceBytes& source = traffic.sources[j];
        lanes.push_back(
            {traffic.region, view.region.id, -1, view.region.members[chosen], {{source.rank, 0, source.bytes}}});
      }
    }
    return lanes;
  }

  void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    for (Lane& lane : lanes) lane.sender = lane.pieces.front().source;
  }
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"two_step", "each source sends what a region needs of it to its paired rank there, which scatters it",
           "Lockhart, Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies for irregular "
           "point-to-point communication on heterogeneous architectures, section 2.3.2",
           "all", "any", Traits{}, new_strategy<TwoStep>, 3}};
}

}  // namespace laneway::lanes::two_step
