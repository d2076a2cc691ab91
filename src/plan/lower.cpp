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
      : pattern_(pattern),
        it_(itinerary),
        options_(options),
        placements_(placements(pattern.in)),
        ordinals_(ordinals(pattern.in)),
        builder_(itinerary.rank) {}

  Plan run() {
    direct_edges();
    for (const Lane& lane : it_.out_lanes) outgoing(lane);
    for (std::size_t i = 0; i < it_.in_lanes.size(); ++i) incoming(static_cast<int>(i));
    return builder_.take();
  }

 private:
  void direct_edges() {
    const Grouping grouping{options_.direct_message_bytes};
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
    std::vector<Rank> order;
    std::size_t self = 0;
    for (std::size_t i = 0; i < pattern_.out.size(); ++i) {
      const Edge& edge = pattern_.out[i];
      if (!it_.out_direct[i] || edge.ranges.empty()) continue;
      if (edge.peer != it_.rank) {
        std::vector<Segment>& to_peer = segments[edge.peer];
        if (to_peer.empty()) order.push_back(edge.peer);
        to_peer.push_back({Buffer::send, edge.ranges});
        continue;
      }
      require(self < from_self.size(), ErrorKind::topology,
              "an edge to this rank itself has no matching incoming edge");
      const auto in = static_cast<std::size_t>(from_self[self++]);
      require(pattern_.in[in].ranges.bytes() == edge.ranges.bytes(), ErrorKind::topology,
              "an edge to this rank itself sends " + std::to_string(edge.ranges.bytes()) + " bytes and receives " +
                  std::to_string(pattern_.in[in].ranges.bytes()));
      RangeList from;
      placements_[in].stream.for_each([&](Range r) { from.append(edge.ranges.slice(r.offset, r.bytes)); });
      builder_.copy(Stage::direct, {Buffer::send, std::move(from)}, Buffer::receive, placements_[in].place);
    }
    if (options_.spread)
      std::sort(order.begin(), order.end(),
                [&](Rank a, Rank b) { return std::pair(a < it_.rank, a) < std::pair(b < it_.rank, b); });
    for (Rank peer : order) builder_.send(Stage::direct, peer, segments.at(peer), grouping);
  }

  [[nodiscard]] RangeList own_piece(const Lane& lane, const Piece& piece) const {
    return it_.out_blocks.at(lane.to_region).slice(piece.begin, piece.bytes());
  }

  [[nodiscard]] Grouping between_nodes() const {
    return options_.network_message_bytes > 0 ? Grouping{options_.network_message_bytes} : Grouping::together();
  }

  [[nodiscard]] std::int64_t part_bytes(const Piece& piece) const {
    return options_.network_message_bytes > 0 ? options_.network_message_bytes
                                              : std::max<std::int64_t>(piece.bytes(), 1);
  }

  /// A piece cut to the size of messages between nodes.
  [[nodiscard]] std::vector<Piece> parts_of(const Piece& piece) const {
    std::vector<Piece> parts;
    for (std::int64_t begin = piece.begin; begin < piece.end; begin += part_bytes(piece))
      parts.push_back({piece.source, begin, std::min(piece.end, begin + part_bytes(piece))});
    return parts;
  }

  void outgoing(const Lane& lane) {
    const Grouping grouping{options_.relay_message_bytes};
    if (lane.sender != it_.rank) {
      std::vector<Segment> own;
      for (const Piece& piece : lane.pieces)
        if (piece.source == it_.rank) own.push_back({Buffer::send, own_piece(lane, piece)});
      builder_.send(Stage::gather, lane.sender, own, grouping);
      return;
    }
    std::vector<Segment> segments;
    const bool all_own = std::all_of(lane.pieces.begin(), lane.pieces.end(),
                                     [&](const Piece& piece) { return piece.source == it_.rank; });
    const Span image = builder_.stage(all_own ? 0 : lane.bytes());
    std::map<Rank, std::vector<Sink>> others;
    std::int64_t at = image.offset;
    for (const Piece& piece : lane.pieces) {
      const bool own = piece.source == it_.rank;
      const bool straight = own && (all_own || piece.bytes() >= between_nodes().message_bytes);
      const RangeList place{{at, piece.bytes()}};
      for (const Piece& part : parts_of(piece))
        segments.push_back(straight ? Segment{Buffer::send, own_piece(lane, part)}
                                    : Segment{Buffer::staging, {{at + part.begin - piece.begin, part.bytes()}}});
      if (!own)
        others[piece.source].push_back({piece.bytes(), Buffer::staging, {{0, piece.bytes()}}, place});
      else if (!straight)
        builder_.copy(Stage::gather, {Buffer::send, own_piece(lane, piece)}, Buffer::staging, place);
      at += piece.bytes();
    }
    for (const auto& [source, sinks] : others) builder_.receive(Stage::gather, source, sinks, grouping);
    builder_.send(Stage::network, lane.receiver, segments, between_nodes());
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
    throw Error(ErrorKind::topology,
                "rank " + std::to_string(source) + " sends on an edge that this rank does not have");
  }

  /// What of a lane's messages this rank itself is to receive: one sink for each part, its stream relative to the part.
  void keep(const Forward& forward, const Piece& piece, Sink* parts) const {
    const std::size_t edge = edge_from(piece.source, forward.ordinal);
    const Sink kept = sink_of(placements_[edge], forward.intervals, pattern_.in[edge].ranges.bytes());
    RangeList offsets;
    kept.stream.for_each([&](Range r) { offsets.append(forward.offsets.slice(r.offset, r.bytes)); });
    for_each_pair(offsets, kept.place, [&](std::int64_t offset, std::int64_t place, std::int64_t bytes) {
      const std::int64_t size = part_bytes(piece);
      while (bytes > 0) {
        const std::int64_t part = (offset - piece.begin) / size;
        const std::int64_t in_part = offset - piece.begin - part * size;
        const std::int64_t n = std::min(bytes, size - in_part);
        parts[part].stream.append(Range{in_part, n});
        parts[part].place.append(Range{place, n});
        offset += n;
        place += n;
        bytes -= n;
      }
    });
  }

  void receive_lane(int index, const Lane& lane) {
    std::vector<std::size_t> first_part;  // by piece
    std::vector<std::int64_t> piece_at;   // by piece: where it begins in the lane
    std::vector<std::int64_t> part_at;    // by part
    std::vector<Sink> mine;               // by part
    std::int64_t bytes = 0;
    for (const Piece& piece : lane.pieces) {
      first_part.push_back(mine.size());
      piece_at.push_back(bytes);
      for (const Piece& part : parts_of(piece)) {
        part_at.push_back(bytes);
        mine.push_back({part.bytes(), Buffer::receive, {}, {}});
        bytes += part.bytes();
      }
    }
    std::map<Rank, std::vector<Segment>> others;
    for (const Forward* forward : forwards_of(index)) {
      const auto p = static_cast<std::size_t>(forward->piece);
      const Piece& piece = lane.pieces[p];
      if (forward->destination == it_.rank) {
        keep(*forward, piece, &mine[first_part[p]]);
        continue;
      }
      RangeList ranges;
      ranges.append(forward->offsets, piece_at[p] - piece.begin);
      others[forward->destination].push_back({Buffer::staging, std::move(ranges)});
    }
    if (others.empty()) {
      builder_.receive(Stage::network, lane.sender, mine, between_nodes());
      return;
    }
    const Span image = builder_.stage(bytes);
    auto in_image = [&](const RangeList& ranges, std::int64_t shift) {
      RangeList shifted;
      shifted.append(ranges, image.offset + shift);
      return shifted;
    };
    std::vector<Sink> whole;
    for (std::size_t i = 0; i < mine.size(); ++i)
      whole.push_back(
          {mine[i].bytes, Buffer::staging, {{0, mine[i].bytes}}, in_image({{0, mine[i].bytes}}, part_at[i])});
    builder_.receive(Stage::network, lane.sender, whole, between_nodes());
    for (auto& [destination, segments] : others) {
      for (Segment& segment : segments) segment.ranges = in_image(segment.ranges, 0);
      builder_.send(Stage::scatter, destination, segments, {options_.relay_message_bytes});
    }
    for (std::size_t i = 0; i < mine.size(); ++i)
      builder_.copy(Stage::scatter, {Buffer::staging, in_image(mine[i].stream, part_at[i])}, Buffer::receive,
                    mine[i].place);
  }

  void arrive(int index, const Lane& lane) {
    std::vector<Sink> sinks;
    for (const Arrival& arrival : it_.arrivals) {
      if (arrival.lane != index || arrival.intervals.empty()) continue;
      const auto edge = static_cast<std::size_t>(arrival.edge);
      sinks.push_back(sink_of(placements_[edge], arrival.intervals, pattern_.in[edge].ranges.bytes()));
    }
    builder_.receive(Stage::scatter, lane.receiver, sinks, {options_.relay_message_bytes});
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
