#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/types.hpp"
#include "core/wire.hpp"
#include "lanes/strategy.hpp"
#include "lanes/view.hpp"
#include "model/candidates.hpp"

namespace laneway {

/// What one rank tells of itself where one chooses for all: of `part` its own edges and blocks, not what enters.
struct Summary {
  Rank region = 0;
  std::optional<Rank> sharing;  ///< the first of those with whom it shares memory
  ViewPart part;

  [[nodiscard]] Bytes to_bytes() const;
  static Summary from_bytes(const Bytes& bytes);
};

/// What a strategy does with all that enters and leaves one region.
struct LanesOfRegion {
  std::vector<Lane> in;   ///< ascending region; without senders
  std::vector<Lane> out;  ///< ascending region

  friend bool operator==(const LanesOfRegion&, const LanesOfRegion&) = default;
};

/// The traffic of all regions, which the members of each would otherwise learn from each other.
class Overview {
 public:
  /// `ranks[r]` is of rank r.
  explicit Overview(const std::vector<Summary>& ranks);

  [[nodiscard]] const RegionView& view(Rank region) const { return views_.at(region); }
  [[nodiscard]] std::map<Rank, LanesOfRegion> assign(const Strategy& strategy) const;
  /// `lanes`: of all regions; null where each edge is a message. `costs`: as any rank has it.
  [[nodiscard]] Prediction predict(const CostModel& costs, const std::map<Rank, LanesOfRegion>* lanes) const;

 private:
  std::map<Rank, RegionView> views_;
  std::map<std::pair<Rank, std::optional<Rank>>, std::vector<Rank>> sharing_;  // by region and who is the first
};

}  // namespace laneway
