#include "plan/lower.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "plan/builder.hpp"

namespace laneway {

namespace {

/// Restricts a placement to the positions in `intervals`, renumbered in the order of `intervals`.
Sink sink_of(const Placement& placement, const RangeList& intervals, std::int64_t edge_bytes) {
  Sink sink{intervals.bytes(), Buffer::receive, {}, {}};
  if (intervals == RangeList{{0, edge_bytes}}) {
    sink.stream = placement.stream;
    sink.place = placement.place;
    return sink;
  }
  struct Kept {
    Range stream;
    std::int64_t position;
  };
  std::vector<Kept> kept;
  std::int64_t position = 0;
  placement.stream.for_each([&](Range range) {
    kept.push_back({range, position});
    position += range.bytes;
  });
  std::int64_t at = 0;
  intervals.for_each([&](Range interval) {
    auto it = std::upper_bound(kept.begin(), kept.end(), interval.offset,
                               [](std::int64_t offset, const Kept& k) { return offset < k.stream.offset; });
    if (it != kept.begin()) --it;
    for (; it != kept.end() && it->stream.offset < interval.end(); ++it) {
      const std::int64_t begin = std::max(interval.offset, it->stream.offset);
      const std::int64_t end = std::min(interval.end(), it->stream.end());
      if (begin >= end) continue;
      sink.stream.append(Range{at + begin - interval.offset, end - begin});
      sink.place.append(placement.place.slice(it->position + begin - it->stream.offset, end - begin));
    }
    at += interval.bytes;
  });
  return sink;
}

class Lowering {
 public:
  Lowering(const RankPattern& pattern, const Itinerary& itinerary, const LoweringOptions& options)
      : pattern_(pattern), it_(itinerary), options_(options), placements_(placements(pattern.in)), ordinals_(ordinals(pattern.in)),
        builder_(itinerary.rank) {}

  Plan run() {
    direct_edges();
    for (const Lane& lane : it_.out_lanes) outgoing(lane);
    for (std::size_t i = 0; i < it_.in_lanes.size(); ++i) incoming(static_cast<int>(i));
    return builder_.take();
  }

 private:
  void direct_edges() {
    const Grouping grouping{options_.direct_alone_bytes};
    std::map<Rank, std::vector<Sink>> sinks;
    std::vector<int> from_self;
    for (std::size_t i = 0; i < pattern_.in.size(); ++i) {
      const Edge& edge = pattern_.in[i];
      if (!it_.in_direct[i] || edge.ranges.empty()) continue;
      if (edge.peer == it_.rank)
        from_self.push_back(static_cast<int>(i));
      else
        sinks[edge.peer].push_back({edge.ranges.bytes(), Buffer::receive, placements_[i].stream, placements_[i].place});
    }
    for (const auto& [peer, list] : sinks) builder_.receive(Stage::direct, peer, list, grouping);
    std::map<Rank, std::vector<Segment>> segments;
    std::size_t self = 0;
    for (std::size_t i = 0; i < pattern_.out.size(); ++i) {
      const Edge& edge = pattern_.out[i];
      if (!it_.out_direct[i] || edge.ranges.empty()) continue;
      if (edge.peer != it_.rank) {
        segments[edge.peer].push_back({Buffer::send, edge.ranges});
        continue;
      }
      require(self < from_self.size(), ErrorKind::topology, "an edge to this rank itself has no matching incoming edge");
      const auto in = static_cast<std::size_t>(from_self[self++]);
      require(pattern_.in[in].ranges.bytes() == edge.ranges.bytes(), ErrorKind::topology,
              "an edge to this rank itself sends " + std::to_string(edge.ranges.bytes()) + " bytes and receives " +
                  std::to_string(pattern_.in[in].ranges.bytes()));
      RangeList from;
      placements_[in].stream.for_each([&](Range r) { from.append(edge.ranges.slice(r.offset, r.bytes)); });
      builder_.copy(Stage::direct, {Buffer::send, std::move(from)}, Buffer::receive, placements_[in].place);
    }
    // Start with the destinations after this rank, so that a receiver is not hit by all at once.
    const auto first = segments.upper_bound(it_.rank);
    for (auto s = first; s != segments.end(); ++s) builder_.send(Stage::direct, s->first, s->second, grouping);
    for (auto s = segments.begin(); s != first; ++s) builder_.send(Stage::direct, s->first, s->second, grouping);
  }

  [[nodiscard]] RangeList own_piece(const Lane& lane, const Piece& piece) const {
    return it_.out_blocks.at(lane.to_region).slice(piece.begin, piece.bytes());
  }

  void outgoing(const Lane& lane) {
    const Grouping grouping{options_.relay_alone_bytes};
    if (lane.sender != it_.rank) {
      std::vector<Segment> own;
      for (const Piece& piece : lane.pieces)
        if (piece.source == it_.rank) own.push_back({Buffer::send, own_piece(lane, piece)});
      builder_.send(Stage::gather, lane.sender, own, grouping);
      return;
    }
    std::vector<Segment> own;
    for (const Piece& piece : lane.pieces)
      if (piece.source == it_.rank) own.push_back({Buffer::send, own_piece(lane, piece)});
    const Grouping between_nodes{options_.network_alone_bytes};
    if (own.size() == lane.pieces.size()) {
      builder_.send(Stage::network, lane.receiver, own, between_nodes);
      return;
    }
    const Span image = builder_.stage(lane.bytes());
    std::vector<std::pair<Rank, std::vector<Sink>>> others;
    std::vector<Segment> segments;
    std::size_t next_own = 0;
    std::int64_t at = image.offset;
    for (const Piece& piece : lane.pieces) {
      const RangeList place{{at, piece.bytes()}};
      at += piece.bytes();
      if (piece.source == it_.rank && piece.bytes() >= options_.network_alone_bytes) {
        segments.push_back(std::move(own[next_own++]));
        continue;
      }
      segments.push_back({Buffer::staging, place});
      if (piece.source == it_.rank) {
        builder_.copy(Stage::gather, own[next_own++], Buffer::staging, place);
        continue;
      }
      auto other = std::find_if(others.begin(), others.end(), [&](const auto& o) { return o.first == piece.source; });
      if (other == others.end()) other = others.insert(others.end(), {piece.source, {}});
      other->second.push_back({piece.bytes(), Buffer::staging, {{0, piece.bytes()}}, place});
    }
    for (const auto& [source, sinks] : others) builder_.receive(Stage::gather, source, sinks, grouping);
    builder_.send(Stage::network, lane.receiver, segments, between_nodes);
  }

  void incoming(int index) {
    const Lane& lane = it_.in_lanes[static_cast<std::size_t>(index)];
    if (lane.receiver == it_.rank)
      receive_lane(index, lane);
    else
      arrive(index, lane);
  }

  [[nodiscard]] std::vector<const Forward*> forwards_of(int lane) const {
    std::vector<const Forward*> result;
    for (const Forward& forward : it_.forwards)
      if (forward.lane == lane) result.push_back(&forward);
    return result;
  }

  /// The incoming edge of this rank from `source` with that ordinal.
  [[nodiscard]] std::size_t edge_from(Rank source, int ordinal) const {
    for (std::size_t i = 0; i < pattern_.in.size(); ++i)
      if (pattern_.in[i].peer == source && ordinals_[i] == ordinal) return i;
    throw Error(ErrorKind::topology, "rank " + std::to_string(source) + " sends on an edge that this rank does not have");
  }

  void receive_lane(int index, const Lane& lane) {
    const std::vector<const Forward*> forwards = forwards_of(index);
    std::vector<std::int64_t> piece_at;
    std::int64_t bytes = 0;
    for (const Piece& piece : lane.pieces) {
      piece_at.push_back(bytes - piece.begin);
      bytes += piece.bytes();
    }
    std::vector<Sink> mine;
    for (const Piece& piece : lane.pieces) mine.push_back({piece.bytes(), Buffer::receive, {}, {}});
    std::map<Rank, std::vector<Segment>> others;
    for (const Forward* forward : forwards) {
      const Piece& piece = lane.pieces[static_cast<std::size_t>(forward->piece)];
      const std::int64_t shift = piece_at[static_cast<std::size_t>(forward->piece)];
      if (forward->destination != it_.rank) {
        RangeList ranges;
        ranges.append(forward->offsets, shift);
        others[forward->destination].push_back({Buffer::staging, std::move(ranges)});
        continue;
      }
      const std::size_t edge = edge_from(piece.source, forward->ordinal);
      const Sink part = sink_of(placements_[edge], forward->intervals, pattern_.in[edge].ranges.bytes());
      Sink& sink = mine[static_cast<std::size_t>(forward->piece)];
      part.stream.for_each([&](Range r) { sink.stream.append(forward->offsets.slice(r.offset, r.bytes), -piece.begin); });
      sink.place.append(part.place);
    }
    const Grouping between_nodes{options_.network_alone_bytes};
    if (others.empty()) {
      builder_.receive(Stage::network, lane.sender, mine, between_nodes);
      return;
    }
    const Span image = builder_.stage(bytes);
    std::vector<Sink> pieces;
    std::vector<std::int64_t> in_image_at;
    for (const Piece& piece : lane.pieces) {
      const std::int64_t offset = image.offset + piece.begin + piece_at[pieces.size()];
      in_image_at.push_back(offset);
      pieces.push_back({piece.bytes(), Buffer::staging, {{0, piece.bytes()}}, {{offset, piece.bytes()}}});
    }
    builder_.receive(Stage::network, lane.sender, pieces, between_nodes);
    auto in_image = [&](const RangeList& ranges) {
      RangeList shifted;
      shifted.append(ranges, image.offset);
      return shifted;
    };
    for (auto& [destination, segments] : others) {
      for (Segment& segment : segments) segment.ranges = in_image(segment.ranges);
      builder_.send(Stage::scatter, destination, segments, {options_.relay_alone_bytes});
    }
    for (std::size_t p = 0; p < mine.size(); ++p) {
      RangeList from;
      from.append(mine[p].stream, in_image_at[p]);
      builder_.copy(Stage::scatter, {Buffer::staging, std::move(from)}, Buffer::receive, mine[p].place);
    }
  }

  void arrive(int index, const Lane& lane) {
    std::vector<Sink> sinks;
    for (const Arrival& arrival : it_.arrivals) {
      if (arrival.lane != index || arrival.intervals.empty()) continue;
      const auto edge = static_cast<std::size_t>(arrival.edge);
      sinks.push_back(sink_of(placements_[edge], arrival.intervals, pattern_.in[edge].ranges.bytes()));
    }
    builder_.receive(Stage::scatter, lane.receiver, sinks, {options_.relay_alone_bytes});
  }

  const RankPattern& pattern_;
  const Itinerary& it_;
  const LoweringOptions& options_;
  const std::vector<Placement> placements_;
  const std::vector<int> ordinals_;
  PlanBuilder builder_;
};

}  // namespace

Plan lower(const RankPattern& pattern, const Itinerary& itinerary, const LoweringOptions& options) {
  return Lowering(pattern, itinerary, options).run();
}

}  // namespace laneway
