#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "algorithms/planner/choice.hpp"
#include "algorithms/planner/control_messages.hpp"
#include "algorithms/planner/planner.hpp"

namespace laneway {

Round Planner::send_to_first() {
  Summary own;
  own.region = region_.id;
  own.inner = inner_id();
  own.distance = options_.network_distance;
  if (options_.costs != nullptr && !options_.costs->sharing().empty()) own.sharing = options_.costs->sharing().front();
  own.inside = inside_edges();
  for (std::size_t i = 0; i < pattern_.out.size(); ++i) {
    const Edge& edge = pattern_.out[i];
    if (!crosses(edge)) continue;
    const Rank region = region_of(edge.peer);
    const std::int64_t bytes = edge.ranges.bytes();
    const RangeList located = blocks_.at(region).locate(source_ranges(i));
    const std::int64_t begin = located.runs().front().offset;
    own.edges.push_back(
        {region, edge.peer, bytes, located == RangeList{{begin, bytes}} ? std::optional(begin) : std::nullopt});
  }
  std::stable_sort(own.edges.begin(), own.edges.end(), [](const PlacedEdge& a, const PlacedEdge& b) {
    return std::pair(a.region, a.destination) < std::pair(b.region, b.destination);
  });
  for (const auto& [region, block] : blocks_) own.block_bytes[region] = block.bytes();
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  if (rank_ == 0) {
    own_message_ = own.to_bytes();
    for (Rank rank = 1; rank < options_.ranks; ++rank) round.from.push_back(rank);
    next_ = &Planner::choose_for_all;
  } else {
    round.control_messages.push_back({0, own.to_bytes()});
    next_ = &Planner::await_choice;
  }
  return round;
}

/// All ranks go on from what the control messages say, also the one that writes them.
Round Planner::choose_for_all(const std::vector<Bytes>& inbox) {
  std::vector<Summary> ranks = {Summary::from_bytes(own_message_)};
  for (const Bytes& bytes : inbox) ranks.push_back(Summary::from_bytes(bytes));
  const Overview overview(std::move(ranks), merges_all());
  std::vector<std::map<Rank, LanesOfRegion>> lanes;
  for (const Strategy* strategy : strategies_) lanes.push_back(overview.assign(*strategy));
  Selection selection;
  if (strategies_.size() > 1) {
    for (std::size_t c = 0; c < strategies_.size(); ++c)
      selection.predictions.push_back(overview.predict(*options_.costs, *strategies_[c], lanes[c]));
    // Control messages came with an agreement that no plan goes without.
    if (options_.counts_setup)
      selection.setup_seconds =
          seconds_of_choice(strategies_.size(), overview.edges(), static_cast<std::size_t>(options_.ranks));
    selection.chosen = best_of(selection, strategies_, options_);
  }
  const Strategy& chosen = *strategies_[selection.chosen];
  std::map<Rank, Bytes> control_messages;  // by region
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    const Rank region = overview.region_of(rank);
    Bytes& control_message = control_messages[region];
    if (control_message.empty()) {
      Writer writer;
      put_selection(writer, selection);
      if (chosen.relays()) {
        const std::optional<EdgeRanges> places = overview.places(region, chosen);
        put_traffic(writer, overview.view(region, chosen).in, !places);
        put_lanes(writer, lanes[selection.chosen].at(region).in);
        put_lanes(writer, lanes[selection.chosen].at(region).out);
        put_edge_ranges(writer, places);
      }
      control_message = writer.take();
    }
    if (rank == rank_)
      own_message_ = control_message;
    else
      round.control_messages.push_back({rank, control_message});
  }
  next_ = &Planner::follow_choice;
  return round;
}

Round Planner::await_choice(const std::vector<Bytes>&) {
  next_ = &Planner::follow_choice;
  return {Round::Kind::exchange, {}, {0}, {}, nullptr};
}

Round Planner::follow_choice(const std::vector<Bytes>& inbox) {
  Reader reader(rank_ == 0 ? own_message_ : inbox.front());
  selection_ = get_selection(reader);
  if (strategies_[selection_.chosen]->relays()) {
    view_.region = region_;
    view_.in = get_traffic(reader);
    get_lanes(reader, itinerary_.in_lanes);
    get_lanes(reader, itinerary_.out_lanes);
    edge_ranges_ = get_edge_ranges(reader);
  }
  return go_on();
}

}  // namespace laneway
