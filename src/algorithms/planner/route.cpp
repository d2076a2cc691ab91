#include "algorithms/planner/route.hpp"

#include "algorithms/lowering/pack.hpp"

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

Plan Route::plan(const RankPattern& pattern, std::int64_t bytes, const LoweringOptions& options) const {
  // Blocks consist of whole messages, so a position is that of a message and one inside it.
  const auto position = [&](std::int64_t at) {
    const auto exact = static_cast<std::int64_t>(static_cast<long double>(at % unit_) *
                                                 static_cast<long double>(bytes) / static_cast<long double>(unit_));
    return at / unit_ * bytes + exact / 8 * 8;
  };
  const auto block = [&](const RangeList& of_units) {
    RangeList ranges;
    of_units.for_each([&](Range range) {
      for (std::int64_t at = range.offset; at < range.end(); at += unit_)
        ranges.append(pattern.out[static_cast<std::size_t>(at / unit_)].ranges);
    });
    return ranges;
  };
  Itinerary itinerary = itinerary_;
  itinerary.transform(position, block);
  const Demand demand(pattern);
  return pack(Lowering(demand, itinerary, options).finish());
}

}  // namespace laneway
