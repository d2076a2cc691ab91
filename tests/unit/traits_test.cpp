#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/neighborhood/strategy.hpp"
#include "cases.hpp"
#include "described.hpp"
#include "offline/virtual_ranks.hpp"

namespace laneway {
namespace {

/// What lanes of a strategy were seen to do.
struct Seen {
  bool relays = false;
  bool relays_inside = false;
  bool serves_several = false;     ///< one lane had bytes for two destinations
  bool depends_on_fabric = false;  ///< other links between devices made other lanes
  bool cuts_differ = false;        ///< messages a thousand times as large had other pieces or ends
};

void add_edge(Pattern& pattern, Rank source, Rank destination, std::int64_t offset, std::int64_t bytes) {
  pattern[static_cast<std::size_t>(source)].out.push_back({destination, {{offset, bytes}}});
  pattern[static_cast<std::size_t>(destination)].in.push_back({source, {{source * std::int64_t{1000}, bytes}}});
}

Pattern scaled(Pattern pattern, std::int64_t factor) {
  for (RankPattern& rank : pattern)
    for (std::vector<Edge>* edges : {&rank.out, &rank.in})
      for (Edge& edge : *edges) {
        RangeList ranges;
        edge.ranges.for_each([&](Range r) { ranges.append(Range{r.offset * factor, r.bytes * factor}); });
        edge.ranges = ranges;
      }
  return pattern;
}

void look(const VirtualSetup& setup, Seen& seen) {
  for (const Itinerary& itinerary : setup.itineraries) {
    for (const Lane& lane : itinerary.out_lanes) {
      seen.relays = true;
      seen.relays_inside = seen.relays_inside || lane.from_region == lane.to_region;
    }
    std::set<std::pair<int, Rank>> destinations;
    for (const Forward& forward : itinerary.forwards) destinations.emplace(forward.lane, forward.destination);
    const auto lane_of = [](const auto& entry) { return entry.first; };
    seen.serves_several =
        seen.serves_several || std::ranges::adjacent_find(destinations, {}, lane_of) != destinations.end();
  }
}

std::vector<Lane> lanes_of(const VirtualSetup& setup) {
  std::vector<Lane> lanes;
  for (const Itinerary& itinerary : setup.itineraries)
    lanes.insert(lanes.end(), itinerary.out_lanes.begin(), itinerary.out_lanes.end());
  return lanes;
}

bool are_scaled(const std::vector<Lane>& small, std::vector<Lane> large, std::int64_t factor) {
  for (Lane& lane : large)
    for (Piece& piece : lane.pieces) {
      if (piece.begin % factor != 0 || piece.end % factor != 0) return false;
      piece.begin /= factor;
      piece.end /= factor;
    }
  return small == large;
}

/// On two nodes of eight ranks, whose devices have one to four links each.
Seen watch(const StrategyRow& row) {
  constexpr std::int64_t factor = 1024;
  Seen seen;
  StrategySettings settings;
  settings.message_cap = 200;
  const Machine machine = cases::described("mi250-ib", 16);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    cases::Random random(seed);
    Pattern pattern(16);
    for (Rank a = 0; a < 16; ++a)
      for (Rank b = 0; b < 16; ++b)
        if (a != b && random.chance(40)) add_edge(pattern, a, b, 8 * random.between(0, 20), 8 * random.between(1, 100));
    settings.fabric = Fabric::of(machine);
    const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *row.make(settings));
    look(setup, seen);
    const VirtualSetup large = plan_virtual_ranks(scaled(pattern, factor), machine, *row.make(settings));
    seen.cuts_differ = seen.cuts_differ || !are_scaled(lanes_of(setup), lanes_of(large), factor);
    settings.fabric = nullptr;
    const VirtualSetup without = plan_virtual_ranks(pattern, machine, *row.make(settings));
    seen.depends_on_fabric = seen.depends_on_fabric || lanes_of(setup) != lanes_of(without);
  }
  return seen;
}

/// Rows are data: nothing but this says that a strategy does what its row promises.
TEST(Traits, AreWhatStrategiesDo) {
  for (const StrategyRow& row : strategies()) {
    SCOPED_TRACE(row.name);
    const Traits& traits = row.traits;
    const Seen seen = watch(row);
    EXPECT_EQ(seen.relays, traits.relays);
    EXPECT_EQ(seen.relays_inside, traits.relays_inside);
    EXPECT_EQ(seen.serves_several, traits.relays && traits.deduplicates);
    EXPECT_EQ(seen.cuts_differ, !traits.scales);
    EXPECT_TRUE(!seen.depends_on_fabric || traits.needs == Traits::Needs::fabric);
    EXPECT_TRUE(!traits.relays_inside || traits.needs == Traits::Needs::fabric);
    EXPECT_TRUE(!traits.spreads || !traits.relays);
    const std::unique_ptr<Strategy> strategy = row.make();
    EXPECT_EQ(strategy->inside() != nullptr || strategy->scatter() != nullptr, traits.levels > 1);
    EXPECT_FALSE(strategy->traits().relays_inside) << "no links between devices are known";
  }
}

}  // namespace
}  // namespace laneway
