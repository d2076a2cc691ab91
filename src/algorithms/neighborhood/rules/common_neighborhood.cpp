#include <tuple>

#include "algorithms/neighborhood/balance.hpp"
#include "base/error.hpp"

namespace laneway::lanes::common_neighborhood {

namespace {

/// Message combining among ranks with common destinations. After Mirsadeghi, Träff, Balaji, Afsahi: Exploiting Common
/// Neighborhoods to Optimize MPI Neighborhood Collectives, HiPC 2017, and Ghazimirsaeed, Mirsadeghi, Afsahi: An
/// Efficient Collaborative Communication Mechanism for MPI Neighborhood Collectives, IPDPS 2019, which were known by
/// their titles only: this is a design of our own on that idea.
///
/// The ranks of a region that have a destination in common hand their messages for it to one of them, which sends one
/// message to that destination itself; nothing is scattered there. A rank that has a destination alone sends to it.
/// Combiners are chosen, most bytes first, by the least number of messages, then of bytes, then by their distance to a
/// network interface.
///
/// Without deduplication the block of a source holds its edges in ascending (destination, order of the arguments), so
/// the sizes of the edges say where the part of each destination begins.
class CommonNeighborhood final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    for (const Traffic& traffic : view.in) {
      std::map<Rank, Lane> by_destination;
      BytesOf used;  // of each source's block
      for (const CrossEdge& edge : traffic.edges) {
        Lane& lane =
            by_destination.try_emplace(edge.destination, Lane{traffic.region, view.region.id, -1, edge.destination, {}})
                .first->second;
        std::int64_t& at = used[edge.source];
        if (!lane.pieces.empty() && lane.pieces.back().source == edge.source)
          lane.pieces.back().end += edge.bytes;
        else
          lane.pieces.push_back({edge.source, at, at + edge.bytes});
        at += edge.bytes;
      }
      for (const SourceBytes& source : traffic.sources) LANEWAY_ASSERT(used.at(source.rank) == source.bytes);
      for (auto& [destination, lane] : by_destination) lanes.push_back(std::move(lane));
    }
    return lanes;
  }

  void assign_senders(const RegionView& view, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    struct Load {
      int lanes = 0;
      std::int64_t bytes = 0;
      int distance = 0;
    };
    std::map<Rank, Load> load;
    for (std::size_t i = 0; i < view.region.members.size(); ++i)
      load[view.region.members[i]].distance = view.distance_of(i);
    auto give = [&](Lane& lane, Rank sender) {
      lane.sender = sender;
      load[sender].lanes += 1;
      load[sender].bytes += lane.bytes();
    };
    for (Lane& lane : lanes)
      if (lane.pieces.size() == 1) give(lane, lane.pieces.front().source);
    for (std::size_t i : largest_first(lanes, [](const Lane& lane) { return lane.bytes(); })) {
      if (lanes[i].pieces.size() == 1) continue;
      const std::vector<Piece>& pieces = lanes[i].pieces;
      const auto best = std::min_element(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
        auto key = [&](const Piece& p) {
          const Load& l = load[p.source];
          return std::tuple(l.lanes, l.bytes, l.distance, -p.bytes());
        };
        return key(a) < key(b);
      });
      give(lanes[i], best->source);
    }
  }
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"common_neighborhood",
           "ranks of a region with a common destination combine their messages for it at one of them",
           "after Mirsadeghi, Träff, Balaji, Afsahi: Exploiting Common Neighborhoods to Optimize MPI Neighborhood "
           "Collectives, HiPC 2017; Ghazimirsaeed, Mirsadeghi, Afsahi: An Efficient Collaborative Communication "
           "Mechanism for MPI Neighborhood Collectives, IPDPS 2019 (known by title)",
           "all, small messages", "any", Traits{.deduplicates = false}, new_strategy<CommonNeighborhood>, 7}};
}

}  // namespace laneway::lanes::common_neighborhood
