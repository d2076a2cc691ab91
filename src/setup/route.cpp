#include "setup/route.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "passes/pack.hpp"

namespace laneway {

RankPattern Route::unit_pattern(Kind operation, const std::vector<Rank>& sources, const std::vector<Rank>& destinations,
                                std::int64_t unit) {
  RankPattern pattern;
  std::int64_t at = 0;
  for (Rank destination : destinations) {
    pattern.out.push_back({destination, {{at, unit}}});
    if (!sends_same(operation)) at += unit;
  }
  at = 0;
  for (Rank source : sources) {
    pattern.in.push_back({source, {{at, unit}}});
    at += unit;
  }
  return pattern;
}

/// Blocks consist of whole messages, so a position is that of a message and one inside it.
std::int64_t Route::scaled(std::int64_t position, std::int64_t bytes) const {
  const std::int64_t message = position / unit_;
  const std::int64_t inside = position % unit_;
  const auto exact = static_cast<std::int64_t>(static_cast<long double>(inside) * static_cast<long double>(bytes) /
                                               static_cast<long double>(unit_));
  return message * bytes + exact / 8 * 8;
}

RangeList Route::scaled(const RangeList& positions, std::int64_t bytes) const {
  RangeList result;
  positions.for_each([&](Range range) {
    const std::int64_t begin = scaled(range.offset, bytes);
    const std::int64_t end = scaled(range.end(), bytes);
    if (end > begin) result.append(Range{begin, end - begin});
  });
  return result;
}

Plan Route::plan(const RankPattern& pattern, std::int64_t bytes, const LoweringOptions& options) const {
  Itinerary itinerary = itinerary_;
  for (std::vector<Lane>* lanes : {&itinerary.out_lanes, &itinerary.in_lanes})
    for (Lane& lane : *lanes)
      for (Piece& piece : lane.pieces) {
        piece.begin = scaled(piece.begin, bytes);
        piece.end = scaled(piece.end, bytes);
      }
  for (auto& [region, block] : itinerary.out_blocks) {
    RangeList ranges;
    block.for_each([&](Range range) {
      for (std::int64_t at = range.offset; at < range.end(); at += unit_)
        ranges.append(pattern.out[static_cast<std::size_t>(at / unit_)].ranges);
    });
    block = std::move(ranges);
  }
  for (Forward& forward : itinerary.forwards) {
    forward.offsets = scaled(forward.offsets, bytes);
    forward.intervals = scaled(forward.intervals, bytes);
  }
  for (Arrival& arrival : itinerary.arrivals) arrival.intervals = scaled(arrival.intervals, bytes);
  const Demand demand(pattern);
  return pack(Lowering(demand, itinerary, options).finish());
}

}  // namespace laneway
