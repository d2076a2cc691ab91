#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "algorithms/planner/located.hpp"
#include "algorithms/planner/planner.hpp"
#include "base/error.hpp"

namespace laneway {

/// What sources would tell the receivers of their lanes, and these the destinations.
Round Planner::find_forwards() {
  for (std::size_t l = 0; l < itinerary_.in_lanes.size(); ++l) {
    const Lane& lane = itinerary_.in_lanes[l];
    if (lane.receiver != rank_) continue;
    for (std::size_t p = 0; p < lane.pieces.size(); ++p) {
      const Rank source = lane.pieces[p].source;
      for (auto edge = edge_ranges_->lower_bound({source, -1});
           edge != edge_ranges_->end() && edge->first.first == source; ++edge) {
        if (!lane.carries_for(edge->first.second)) continue;
        for (std::size_t ordinal = 0; ordinal < edge->second.size(); ++ordinal) {
          auto [offsets, intervals] = Located({edge->second[ordinal]}).within(lane.pieces[p]);
          if (!offsets.empty())
            itinerary_.forwards.push_back({static_cast<int>(l), static_cast<int>(p), edge->first.second,
                                           static_cast<int>(ordinal), std::move(offsets), std::move(intervals)});
        }
      }
    }
  }
  expected_.clear();
  find_cut_pieces();
  return finish({});
}

/// Sources tell the receivers of their lanes the sender, and which bytes of their blocks go to whom.
Round Planner::announce_receivers() {
  const std::vector<Lane>& lanes = itinerary_.out_lanes;
  const std::vector<int> ordinal = ordinals(pattern_.out);
  std::map<Rank, std::vector<std::size_t>> edges_to;
  for (std::size_t i = 0; i < pattern_.out.size(); ++i)
    if (crosses(pattern_.out[i])) edges_to[region_of(pattern_.out[i].peer)].push_back(i);
  for (auto& [region, edges] : edges_to)
    std::stable_sort(edges.begin(), edges.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(pattern_.out[a].peer, ordinal[a]) < std::pair(pattern_.out[b].peer, ordinal[b]);
    });
  std::map<std::size_t, Located> located;
  std::map<Rank, Writer> control_messages;
  for (const Lane& lane : lanes) {
    for (const Piece& piece : lane.pieces) {
      if (piece.source != rank_) continue;
      Writer& writer = control_messages[lane.receiver];
      writer.put(lane.sender);
      std::vector<std::pair<std::size_t, std::pair<RangeList, RangeList>>> carried;
      for (std::size_t edge : edges_to.at(lane.to_region)) {
        if (!lane.carries_for(pattern_.out[edge].peer)) continue;
        auto it = located.find(edge);
        if (it == located.end())
          it = located.emplace(edge, Located(blocks_.at(lane.to_region).locate(source_ranges(edge)))).first;
        auto parts = it->second.within(piece);
        if (!parts.first.empty()) carried.emplace_back(edge, std::move(parts));
      }
      writer.put(static_cast<std::int64_t>(carried.size()));
      for (const auto& [edge, parts] : carried) {
        writer.put(pattern_.out[edge].peer);
        writer.put(ordinal[edge]);
        writer.put(parts.first);
        writer.put(parts.second);
      }
    }
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (auto& [peer, writer] : control_messages) round.control_messages.push_back({peer, writer.take()});
  std::set<Rank> sources;
  for (const Lane& lane : itinerary_.in_lanes)
    if (lane.receiver == rank_)
      for (const Piece& piece : lane.pieces) sources.insert(piece.source);
  round.from.assign(sources.begin(), sources.end());
  expected_ = round.from;
  next_ = &Planner::announce_destinations;
  return round;
}

/// What for_each_cut_arrival goes through.
void Planner::find_cut_pieces() {
  for (std::size_t l = 0; l < itinerary_.in_lanes.size(); ++l) {
    const Lane& lane = itinerary_.in_lanes[l];
    lanes_of_receiver_[lane.receiver].push_back(l);
    const std::vector<SourceBytes>& sources = traffic_from(lane.from_region).sources;
    for (const Piece& piece : lane.pieces) {
      const auto source = std::ranges::lower_bound(sources, piece.source, {}, &SourceBytes::rank);
      if (source == sources.end() || source->rank != piece.source)
        internal_error("piece of an unknown source", __FILE__, __LINE__);
      is_cut_.push_back(piece.begin != 0 || piece.end != source->bytes);
    }
    first_piece_.push_back(is_cut_.size() - lane.pieces.size());
  }
}

/// Calls f(lane, piece, ordinal) for every edge to `destination` of which the lanes of `receiver` carry some cut piece:
/// both of them know these, but only the receiver knows which bytes of the edge they are.
template <class F>
void Planner::for_each_cut_arrival(Rank receiver, Rank destination, F&& f) const {
  const auto lanes = lanes_of_receiver_.find(receiver);
  if (lanes == lanes_of_receiver_.end()) return;
  for (std::size_t l : lanes->second) {
    const Lane& lane = itinerary_.in_lanes[l];
    if (!lane.carries_for(destination)) continue;
    for (std::size_t p = 0; p < lane.pieces.size(); ++p) {
      if (!is_cut(l, p)) continue;
      const std::span<const CrossEdge> edges = traffic_from(lane.from_region).edges_of(lane.pieces[p].source);
      const std::size_t count = std::ranges::equal_range(edges, destination, {}, &CrossEdge::destination).size();
      for (std::size_t ordinal = 0; ordinal < count; ++ordinal)
        f(static_cast<int>(l), static_cast<int>(p), static_cast<int>(ordinal));
    }
  }
}

Round Planner::announce_destinations(const std::vector<Bytes>& inbox) {
  find_cut_pieces();
  std::map<Rank, Reader> readers;
  for (std::size_t i = 0; i < expected_.size(); ++i) readers.emplace(expected_[i], Reader(inbox[i]));
  for (std::size_t l = 0; l < itinerary_.in_lanes.size(); ++l) {
    Lane& lane = itinerary_.in_lanes[l];
    if (lane.receiver != rank_) continue;
    for (std::size_t p = 0; p < lane.pieces.size(); ++p) {
      Reader& reader = readers.at(lane.pieces[p].source);
      lane.sender = reader.get<Rank>();
      for (auto n = reader.get<std::int64_t>(); n > 0; --n) {
        Forward forward{static_cast<int>(l), static_cast<int>(p), 0, 0, {}, {}};
        forward.destination = reader.get<Rank>();
        forward.ordinal = reader.get<int>();
        forward.offsets = reader.get_ranges();
        forward.intervals = reader.get_ranges();
        itinerary_.forwards.push_back(std::move(forward));
      }
    }
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  std::set<Rank> from;
  for (Rank member : region_.members) {
    if (member == rank_) continue;
    Writer writer;
    for_each_cut_arrival(rank_, member, [&](int lane, int piece, int ordinal) {
      const auto key = [](const Forward& f) { return std::tuple(f.lane, f.piece, f.destination, f.ordinal); };
      const std::tuple wanted(lane, piece, member, ordinal);
      const auto forward = std::ranges::lower_bound(itinerary_.forwards, wanted, {}, key);
      const bool carried = forward != itinerary_.forwards.end() && key(*forward) == wanted;
      writer.put(carried ? forward->intervals : RangeList{});
    });
    if (!writer.empty()) round.control_messages.push_back({member, writer.take()});
    for_each_cut_arrival(member, rank_, [&](int, int, int) { from.insert(member); });
  }
  round.from.assign(from.begin(), from.end());
  expected_ = round.from;
  next_ = &Planner::finish;
  return round;
}

Round Planner::finish(const std::vector<Bytes>& inbox) {
  std::map<std::pair<int, int>, std::map<int, RangeList>> cut;  // (lane, piece) -> ordinal -> intervals
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    Reader reader(inbox[i]);
    for_each_cut_arrival(expected_[i], rank_, [&](int lane, int piece, int ordinal) {
      cut[{lane, piece}][ordinal] = reader.get_ranges();
    });
  }
  std::map<Rank, std::vector<std::size_t>> edges_from;
  for (std::size_t i = 0; i < pattern_.in.size(); ++i)
    if (crosses(pattern_.in[i])) edges_from[pattern_.in[i].peer].push_back(i);
  for (std::size_t l = 0; l < itinerary_.in_lanes.size(); ++l) {
    const Lane& lane = itinerary_.in_lanes[l];
    if (lane.receiver == rank_ || !lane.carries_for(rank_)) continue;
    for (std::size_t p = 0; p < lane.pieces.size(); ++p) {
      const auto edges = edges_from.find(lane.pieces[p].source);
      if (edges == edges_from.end()) continue;
      const std::pair key{static_cast<int>(l), static_cast<int>(p)};
      const bool whole = !is_cut(l, p);
      int nth = 0;
      for (std::size_t edge : edges->second) {
        RangeList intervals =
            whole          ? RangeList{{0, pattern_.in[edge].ranges.bytes()}}
            : edge_ranges_ ? Located({edge_ranges_->at({lane.pieces[p].source, rank_})[static_cast<std::size_t>(nth)]})
                                 .within(lane.pieces[p])
                                 .second
                           : cut.at(key).at(nth);
        ++nth;
        if (!intervals.empty())
          itinerary_.arrivals.push_back({key.first, key.second, static_cast<int>(edge), std::move(intervals)});
      }
    }
  }
  return plan_inside();
}

}  // namespace laneway
