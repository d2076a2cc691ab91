#pragma once

#include <cstdint>

#include "algorithms/lowering/lower.hpp"
#include "base/kind.hpp"
#include "plan/pattern.hpp"

namespace laneway {

/// The way of the data on one rank, planned with edges of some size, for edges of any size: plans for it are made
/// locally. Positions in messages scale with the size, and fall on multiples of eight bytes where they are cuts.
class Route {
 public:
  /// The pattern to plan an operation with whose edges have one size: `unit` bytes each.
  static RankPattern unit_pattern(Kind operation, const std::vector<Rank>& sources,
                                  const std::vector<Rank>& destinations, std::int64_t unit);

  Route() = default;
  /// `itinerary`: what a planner found for the unit pattern.
  Route(Itinerary itinerary, std::int64_t unit) : itinerary_(std::move(itinerary)), unit_(unit) {}

  /// `pattern` has the edges of the unit pattern, in the same order, of `bytes` bytes each; on all ranks.
  [[nodiscard]] Plan plan(const RankPattern& pattern, std::int64_t bytes, const LoweringOptions& options) const;

 private:
  Itinerary itinerary_;
  std::int64_t unit_ = 1;
};

}  // namespace laneway
