#include <cmath>

#include "algorithms/neighborhood/balance.hpp"

namespace laneway::lanes::grouped {

namespace {

/// The sources that have data for a region in small groups, each a lane: gathered at one of the group, received by one
/// of the ranks that need it. Between two_step, which sends a message for each source, and three_step, in which one
/// rank collects from all of a region, one after another. A design of our own.
///
/// With p pairs of a source and a region for each member and groups of g, a member sends and receives p / g messages,
/// and some g parts wait for each other where they are gathered and handed on. A message, at both ends, takes about as
/// long as two parts at both stages, so the sum is least at g = sqrt(2 p). Groups are of three at least: the other
/// region may have more to do.
///
/// Receivers are chosen by the least work, lanes for few ranks first: messages, parts to hand on and their bytes.
/// Senders in the same way, those of single sources first, then the largest lanes.
class Grouped final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    std::vector<BytesOf> needed;  // by lane
    const std::size_t most = group_size(view);
    for (const Traffic& traffic : view.in) {
      const std::size_t sources = traffic.sources.size();
      const std::size_t groups = (sources + most - 1) / most;
      auto edge = traffic.edges.begin();
      for (std::size_t group = 0; group < groups; ++group) {
        Lane& lane = lanes.emplace_back(Lane{traffic.region, view.region.id, -1, -1, {}});
        BytesOf& need = needed.emplace_back();
        for (std::size_t s = group * sources / groups; s < (group + 1) * sources / groups; ++s) {
          const SourceBytes& source = traffic.sources[s];
          lane.pieces.push_back({source.rank, 0, source.bytes});
          for (; edge != traffic.edges.end() && edge->source == source.rank; ++edge)
            need[edge->destination] += edge->bytes;
        }
      }
    }
    Dealer dealer(view);
    for (std::size_t i : largest_first(needed, [](const BytesOf& need) { return -std::ssize(need); }))
      lanes[i].receiver = dealer.give(lanes[i].bytes(), needed[i]);
    return lanes;
  }

  void assign_senders(const RegionView& view, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    Dealer dealer(view);
    const auto urgency = [](const Lane& lane) { return std::pair(lane.pieces.size() == 1, lane.bytes()); };
    for (std::size_t i : largest_first(lanes, urgency)) lanes[i].sender = dealer.give(lanes[i].bytes(), held(lanes[i]));
  }

 private:
  static std::size_t group_size(const RegionView& view) {
    std::size_t pairs = 0;
    for (const Traffic& traffic : view.in) pairs += traffic.sources.size();
    const double size = std::sqrt(2.0 * static_cast<double>(pairs) / static_cast<double>(view.region.members.size()));
    return std::max<std::size_t>(3, static_cast<std::size_t>(std::lround(size)));
  }
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"grouped",
           "sources in small groups: gathered at one of them, received by a rank that needs it, which hands the others "
           "theirs",
           "a design of our own, between two_step and three_step", "all, small messages", "any",
           Traits{.scales = false}, new_strategy<Grouped>, 6}};
}

}  // namespace laneway::lanes::grouped
