#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/cost/cost_model.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/neighborhood/view.hpp"
#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"

namespace laneway {

/// An edge that some lane may carry.
struct PlacedEdge {
  Rank region = 0;  ///< of its destination
  Rank destination = 0;
  std::int64_t bytes = 0;
  std::optional<std::int64_t> begin;  ///< in the source's block for the region, if it is in one piece there
};

/// What one rank tells of itself where one chooses for all.
struct Summary {
  Rank region = 0;
  Rank inner = 0;               ///< as in ViewPart
  int distance = 0;             ///< as in ViewPart
  std::optional<Rank> sharing;  ///< the first of those with whom it shares memory
  InsideEdges inside;
  std::vector<PlacedEdge> edges;             ///< ascending (region, destination), then the order of the arguments
  std::map<Rank, std::int64_t> block_bytes;  ///< by region

  [[nodiscard]] Bytes to_bytes() const;
  static Summary from_bytes(const Bytes& bytes);
};

/// What a strategy does with all that enters and leaves one region.
struct LanesOfRegion {
  std::vector<Lane> in;   ///< ascending region
  std::vector<Lane> out;  ///< ascending region
};

/// By source and destination the bytes of the source's block for the region that each of the edges needs.
using EdgeRanges = std::map<std::pair<Rank, Rank>, std::vector<Range>>;

/// The traffic of all regions, which the members of each would otherwise learn from each other.
class Overview {
 public:
  /// `ranks[r]` is of rank r. `merges_all`: no strategy that it is asked for sees the traffic without merging.
  Overview(std::vector<Summary> ranks, bool merges_all);

  /// As the strategy sees it.
  [[nodiscard]] const RegionView& view(Rank region, const Strategy& strategy) const {
    return (strategy.deduplicates() ? views_ : unmerged_).at(region);
  }
  /// How many edges some lane may carry.
  [[nodiscard]] std::size_t edges() const;
  [[nodiscard]] Rank region_of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)].region; }
  [[nodiscard]] std::map<Rank, LanesOfRegion> assign(const Strategy& strategy) const;
  /// `lanes`: the strategy's, of all regions. `costs`: as any rank has it.
  [[nodiscard]] Prediction predict(const CostModel& costs, const Strategy& strategy,
                                   const std::map<Rank, LanesOfRegion>& lanes) const;
  /// Of all edges that enter the region from others; nothing if some edge of any rank is in several pieces.
  [[nodiscard]] std::optional<EdgeRanges> places(Rank region, const Strategy& strategy) const;

 private:
  std::vector<Summary> ranks_;
  std::map<Rank, RegionView> views_;
  std::map<Rank, RegionView> unmerged_;
  std::map<std::pair<Rank, std::optional<Rank>>, std::vector<Rank>> sharing_;  // by region and who is the first
  bool in_one_piece_ = true;
};

}  // namespace laneway
