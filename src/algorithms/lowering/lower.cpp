#include "algorithms/lowering/lower.hpp"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace laneway {

namespace {

/// Those of `list`, which is ascending by lane, that are of one lane.
template <class T>
std::span<const T> of_lane(const std::vector<T>& list, int lane) {
  return std::ranges::equal_range(list, lane, {}, &T::lane);
}

}  // namespace

/// Restricts a landing to positions in its edge's bytes, again and again. The reference must outlive the object.
class Lowering::Restriction {
 public:
  explicit Restriction(const Landing& landing) : landing_(landing), places_(landing.place) {
    std::int64_t position = 0;
    landing.stream.for_each([&](Range range) {
      kept_.push_back({range, position});
      position += range.bytes;
    });
  }

  /// The positions are renumbered in the order of `intervals`.
  [[nodiscard]] Sink to(const RangeList& intervals, std::int64_t edge_bytes) const {
    Sink sink{intervals.bytes(), Buffer::receive, {}, {}};
    if (intervals == RangeList{{0, edge_bytes}}) {
      sink.stream = landing_.stream;
      sink.place = landing_.place;
      return sink;
    }
    std::int64_t at = 0;
    intervals.for_each([&](Range interval) {
      auto it = std::upper_bound(kept_.begin(), kept_.end(), interval.offset,
                                 [](std::int64_t offset, const Kept& k) { return offset < k.stream.offset; });
      if (it != kept_.begin()) --it;
      for (; it != kept_.end() && it->stream.offset < interval.end(); ++it) {
        const std::int64_t begin = std::max(interval.offset, it->stream.offset);
        const std::int64_t end = std::min(interval.end(), it->stream.end());
        if (begin >= end) continue;
        sink.stream.append(Range{at + begin - interval.offset, end - begin});
        sink.place.append(places_.slice(it->position + begin - it->stream.offset, end - begin));
      }
      at += interval.bytes;
    });
    return sink;
  }

 private:
  struct Kept {
    Range stream;
    std::int64_t position;
  };
  const Landing& landing_;
  const Slicer places_;
  std::vector<Kept> kept_;
};

Lowering::Lowering(const Demand& demand, const Itinerary& itinerary, const LoweringOptions& options)
    : demand_(demand),
      it_(itinerary),
      options_(options),
      ordinals_(ordinals(demand.pattern.in)),
      plan_(itinerary.rank, Reuse::none) {
  for (const Lane& lane : it_.out_lanes) {
    const bool assembles =
        lane.sender == it_.rank && std::any_of(lane.pieces.begin(), lane.pieces.end(),
                                               [&](const Piece& piece) { return piece.source != it_.rank; });
    out_images_.push_back(assembles ? std::optional(plan_.stage(lane.bytes())) : std::nullopt);
  }
  in_images_.resize(it_.in_lanes.size());
  for (const Forward& forward : it_.forwards) {
    const auto l = static_cast<std::size_t>(forward.lane);
    if (forward.destination != it_.rank && !in_images_[l]) in_images_[l] = plan_.stage(it_.in_lanes[l].bytes());
  }
  for (const auto& [region, block] : it_.out_blocks) blocks_.emplace(region, Slicer(block));
  if (it_.forwards.empty()) return;
  for (std::size_t i = 0; i < demand_.pattern.in.size(); ++i) in_edges_.push_back(i);
  std::ranges::sort(in_edges_, {}, [this](std::size_t i) { return source_and_ordinal(i); });
}

Lowering::~Lowering() = default;

Plan Lowering::finish() {
  messages(true);
  messages(false);
  copy_self_edges();
  for (std::size_t l = 0; l < it_.out_lanes.size(); ++l) {
    gather_messages(l);
    send_lane(l);
  }
  for (std::size_t l = 0; l < it_.in_lanes.size(); ++l) {
    const auto lane = static_cast<int>(l);
    if (it_.in_lanes[l].receiver == it_.rank) receive_lane(lane);
    scatter_messages(lane);
  }
  return plan_.take();
}

Plan Lowering::finish(const Plan& gather, std::span<const Plan> inside) {
  messages(false);
  copy_self_edges();
  const std::int64_t window = staging_window();
  plan_.append(gather, {.receive = {Buffer::staging, 0}, .window = window}, Inside{Stage::gather, 0});
  for (std::size_t l = 0; l < it_.out_lanes.size(); ++l) send_lane(l);
  for (std::size_t l = 0; l < it_.in_lanes.size(); ++l)
    if (it_.in_lanes[l].receiver == it_.rank) receive_lane(static_cast<int>(l));
  int slot = 0;
  for (const Plan& plan : inside) plan_.append(plan, {.window = window}, Inside{Stage::scatter, ++slot});
  return plan_.take();
}

Demand Lowering::gather() const {
  Demand demand;
  for (std::size_t l = 0; l < it_.out_lanes.size(); ++l) {
    const Lane& lane = it_.out_lanes[l];
    std::int64_t at = out_images_[l] ? out_images_[l]->offset : 0;
    for (const Piece& piece : lane.pieces) {
      if (lane.sender == it_.rank && piece.source != it_.rank) {
        demand.pattern.in.push_back({piece.source, {{at, piece.bytes()}}});
        demand.landings.push_back({{{0, piece.bytes()}}, {{at, piece.bytes()}}});
      } else if (lane.sender != it_.rank && piece.source == it_.rank) {
        demand.pattern.out.push_back({lane.sender, own_piece(lane, piece)});
      }
      at += piece.bytes();
    }
  }
  return demand;
}

Demand Lowering::inside(bool edges, bool scatter) const {
  Demand demand;
  const auto moves = [&](const Edge& edge, bool inside) {
    return inside && edge.peer != it_.rank && !edge.ranges.empty();
  };
  if (edges) {
    for (std::size_t i = 0; i < demand_.pattern.out.size(); ++i)
      if (moves(demand_.pattern.out[i], it_.out_inside[i])) demand.pattern.out.push_back(demand_.pattern.out[i]);
    for (std::size_t i = 0; i < demand_.pattern.in.size(); ++i) {
      if (!moves(demand_.pattern.in[i], it_.in_inside[i])) continue;
      demand.pattern.in.push_back(demand_.pattern.in[i]);
      demand.landings.push_back(demand_.landings[i]);
    }
  }
  if (!scatter) return demand;
  for (std::size_t l = 0; l < it_.in_lanes.size(); ++l) {
    if (it_.in_lanes[l].receiver == it_.rank) {
      for (const auto& [destination, segments] : segments_for_others(static_cast<int>(l)))
        for (const Segment& segment : segments) {
          RangeList ranges;
          ranges.append(segment.ranges, staging_window());
          demand.pattern.out.push_back({destination, std::move(ranges)});
        }
      continue;
    }
    for (const Arrival& arrival : of_lane(it_.arrivals, static_cast<int>(l))) {
      Sink sink = sink_of(arrival);
      demand.pattern.in.push_back({it_.in_lanes[l].receiver, {{0, sink.bytes}}});
      demand.landings.push_back({std::move(sink.stream), std::move(sink.place)});
    }
  }
  return demand;
}

namespace {

/// Splits [0, n) into message groups and calls f(begin, end) for each.
template <class Size, class F>
void group(std::size_t n, Grouping grouping, Size&& size, F&& f) {
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin + 1;
    std::int64_t bytes = size(begin);
    while (end < n && bytes + size(end) <= grouping.message_bytes) bytes += size(end++);
    f(begin, end);
    begin = end;
  }
}

End end_of(std::span<const Sink> sinks, std::int64_t bytes) {
  if (sinks.size() == 1 && sinks.front().stream.contiguous() == Range{0, bytes})
    if (const auto whole = sinks.front().place.contiguous()) return {sinks.front().buffer, whole->offset, bytes};
  RangeList stream;
  std::vector<Segment> parts;
  parts.reserve(sinks.size());
  std::int64_t at = 0;
  for (const Sink& sink : sinks) {
    stream.append(sink.stream, at);
    parts.push_back({sink.buffer, sink.place});
    at += sink.bytes;
  }
  return {std::move(parts), stream, bytes};
}

}  // namespace

void Lowering::send(Stage stage, Rank peer, std::span<const Segment> segments, Grouping grouping, int window) {
  LANEWAY_ASSERT(window > 0 && most_under_way % window == 0);
  group(
      segments.size(), grouping, [&](std::size_t i) { return segments[i].ranges.bytes(); },
      [&](std::size_t begin, std::size_t end) {
        send_message(stage, peer, segments.subspan(begin, end - begin), window);
      });
}

void Lowering::send_message(Stage stage, Rank peer, std::span<const Segment> segments, int window) {
  const std::int64_t bytes = bytes_of(segments);
  if (bytes == 0) return;
  const auto whole = segments.size() == 1 ? segments.front().ranges.contiguous() : std::nullopt;
  End from = whole ? End(segments.front().buffer, whole->offset, bytes)
                   : End({segments.begin(), segments.end()}, {{0, bytes}}, bytes);
  const int n = plan_.count(StepKind::send, stage, peer);
  Step step = message_of(StepKind::send, stage, peer, channel_of(stage, n), std::move(from));
  if (stage == Stage::direct)
    plan_.add(std::move(step));
  else
    plan_.add_in_turn(std::move(step), channel_of(stage, n % window));
}

void Lowering::receive(Stage stage, Rank peer, std::span<const Sink> sinks, Grouping grouping) {
  group(
      sinks.size(), grouping, [&](std::size_t i) { return sinks[i].bytes; },
      [&](std::size_t begin, std::size_t end) { receive_message(stage, peer, sinks.subspan(begin, end - begin)); });
}

void Lowering::receive_message(Stage stage, Rank peer, std::span<const Sink> sinks) {
  std::int64_t bytes = 0;
  for (const Sink& sink : sinks) bytes += sink.bytes;
  if (bytes == 0) return;
  const int channel = channel_of(stage, plan_.count(StepKind::receive, stage, peer));
  plan_.add(message_of(StepKind::receive, stage, peer, channel, end_of(sinks, bytes)));
}

/// Edges that no lane carries, inside the region or out of it, as messages.
void Lowering::messages(bool inside) {
  const Grouping grouping{options_.direct_message_bytes};
  const auto moves = [&](const Edge& edge, bool direct, bool is_inside) {
    return direct && is_inside == inside && edge.peer != it_.rank && !edge.ranges.empty();
  };
  std::map<Rank, std::vector<Sink>> sinks;
  for (std::size_t i = 0; i < demand_.pattern.in.size(); ++i) {
    const Edge& edge = demand_.pattern.in[i];
    if (!moves(edge, it_.in_direct[i], it_.in_inside[i])) continue;
    const Landing& landing = demand_.landings[i];
    sinks[edge.peer].push_back({edge.ranges.bytes(), Buffer::receive, landing.stream, landing.place});
  }
  for (const auto& [peer, list] : sinks) receive(Stage::direct, peer, list, grouping);
  std::map<Rank, std::vector<Segment>> segments;
  std::vector<Rank> order;
  for (std::size_t i = 0; i < demand_.pattern.out.size(); ++i) {
    const Edge& edge = demand_.pattern.out[i];
    if (!moves(edge, it_.out_direct[i], it_.out_inside[i])) continue;
    std::vector<Segment>& to_peer = segments[edge.peer];
    if (to_peer.empty()) order.push_back(edge.peer);
    to_peer.push_back({Buffer::send, edge.ranges});
  }
  if (options_.spread)
    std::sort(order.begin(), order.end(),
              [&](Rank a, Rank b) { return std::pair(a < it_.rank, a) < std::pair(b < it_.rank, b); });
  for (Rank peer : order) send(Stage::direct, peer, segments.at(peer), grouping);
}

void Lowering::copy_self_edges() {
  std::vector<std::size_t> from_self;
  for (std::size_t i = 0; i < demand_.pattern.in.size(); ++i) {
    const Edge& edge = demand_.pattern.in[i];
    if (edge.peer == it_.rank && !edge.ranges.empty()) from_self.push_back(i);
  }
  std::size_t self = 0;
  for (const Edge& edge : demand_.pattern.out) {
    if (edge.peer != it_.rank || edge.ranges.empty()) continue;
    require(self < from_self.size(), ErrorKind::topology, "an edge to this rank itself has no matching incoming edge");
    const std::size_t in = from_self[self++];
    const std::int64_t received = demand_.pattern.in[in].ranges.bytes();
    require(received == edge.ranges.bytes(), ErrorKind::topology, [&] {
      return "an edge to this rank itself sends " + std::to_string(edge.ranges.bytes()) + " bytes and receives " +
             std::to_string(received);
    });
    const Landing& landing = demand_.landings[in];
    const Slicer sent(edge.ranges);
    RangeList from;
    landing.stream.for_each([&](Range r) { from.append(sent.slice(r.offset, r.bytes)); });
    plan_.move({Buffer::send, std::move(from)}, {Buffer::receive, landing.place});
  }
}

/// Where this plan's staging memory lies in the send buffer of plans inside: beyond any user's offset, and beyond the
/// staging memory of the plans around this one.
std::int64_t Lowering::staging_window() const {
  return (std::int64_t{1} << 60) + options_.level * (std::int64_t{1} << 58);
}

RangeList Lowering::own_piece(const Lane& lane, const Piece& piece) const {
  return blocks_.at(lane.to_region).slice(piece.begin, piece.bytes());
}

/// Bytes of a message between regions; 0: a lane is one.
std::int64_t Lowering::message_bytes(const Lane& lane) const {
  return lane.from_region == lane.to_region ? message_inside(lane.bytes(), options_.network_message_bytes)
                                            : options_.network_message_bytes;
}

Grouping Lowering::between_regions(const Lane& lane) const {
  const std::int64_t bytes = message_bytes(lane);
  return bytes > 0 ? Grouping{bytes} : Grouping::together();
}

std::int64_t Lowering::part_bytes(const Lane& lane, const Piece& piece) const {
  const std::int64_t bytes = message_bytes(lane);
  return bytes > 0 ? bytes : std::max<std::int64_t>(piece.bytes(), 1);
}

/// What is handed on, cut to the size of messages between regions: parts can go on as soon as they arrive.
std::vector<Range> Lowering::stretches(const Lane& lane, std::int64_t bytes) const {
  const std::int64_t message = message_bytes(lane);
  const std::int64_t most = message > 0 ? message : bytes;
  std::vector<Range> result;
  for (std::int64_t begin = 0; begin < bytes; begin = result.back().end())
    result.push_back({begin, std::min(most, bytes - begin)});
  return result;
}

/// A piece cut to the size of messages between regions.
std::vector<Piece> Lowering::parts_of(const Lane& lane, const Piece& piece) const {
  const std::int64_t most = part_bytes(lane, piece);
  std::vector<Piece> parts;
  for (std::int64_t begin = piece.begin; begin < piece.end; begin = parts.back().end)
    parts.push_back({piece.source, begin, begin + std::min(most, piece.end - begin)});
  return parts;
}

void Lowering::gather_messages(std::size_t l) {
  const Lane& lane = it_.out_lanes[l];
  const Grouping grouping{options_.relay_message_bytes};
  if (lane.sender != it_.rank) {
    std::vector<Segment> own;
    for (const Piece& piece : lane.pieces)
      if (piece.source == it_.rank)
        for (const Piece& part : parts_of(lane, piece)) own.push_back({Buffer::send, own_piece(lane, part)});
    send(Stage::gather, lane.sender, own, grouping);
    return;
  }
  if (!out_images_[l]) return;
  std::map<Rank, std::vector<Sink>> others;
  std::int64_t at = out_images_[l]->offset;
  for (const Piece& piece : lane.pieces) {
    for (const Piece& part : parts_of(lane, piece)) {
      if (piece.source != it_.rank)
        others[piece.source].push_back({part.bytes(), Buffer::staging, {{0, part.bytes()}}, {{at, part.bytes()}}});
      at += part.bytes();
    }
  }
  for (const auto& [source, sinks] : others) receive(Stage::gather, source, sinks, grouping);
}

void Lowering::send_lane(std::size_t l) {
  const Lane& lane = it_.out_lanes[l];
  if (lane.sender != it_.rank) return;
  std::vector<Segment> segments;
  std::int64_t at = out_images_[l] ? out_images_[l]->offset : 0;
  for (const Piece& piece : lane.pieces) {
    const bool own = piece.source == it_.rank;
    const bool straight = own && (!out_images_[l] || piece.bytes() >= between_regions(lane).message_bytes);
    for (const Piece& part : parts_of(lane, piece))
      segments.push_back(straight ? Segment{Buffer::send, own_piece(lane, part)}
                                  : Segment{Buffer::staging, {{at + part.begin - piece.begin, part.bytes()}}});
    if (own && !straight)
      plan_.move({Buffer::send, own_piece(lane, piece)}, {Buffer::staging, {{at, piece.bytes()}}}, Stage::gather);
    at += piece.bytes();
  }
  send(Stage::network, lane.receiver, segments, between_regions(lane), window(lane));
}

/// How many of the lane's messages are under way at a time. All that are share the region's link and arrive at the end
/// together; the fewer, the sooner the first ones can be handed on, but there must be enough to fill the link.
int Lowering::window(const Lane& lane) const {
  constexpr std::size_t fill = 32;
  constexpr int least = 4;
  if (lane.from_region == lane.to_region) return most_under_way;
  int messages = most_under_way;
  while (messages > least && static_cast<std::size_t>(messages) * it_.out_lanes.size() > fill) messages /= 2;
  return messages;
}

const Lowering::Restriction& Lowering::restriction_of(std::size_t edge) const {
  std::unique_ptr<const Restriction>& known = restrictions_[edge];
  if (!known) known = std::make_unique<const Restriction>(demand_.landings[edge]);
  return *known;
}

std::pair<Rank, int> Lowering::source_and_ordinal(std::size_t in) const {
  return {demand_.pattern.in[in].peer, ordinals_[in]};
}

/// The incoming edge of this rank from `source` with that ordinal.
std::size_t Lowering::edge_from(Rank source, int ordinal) const {
  const std::pair wanted(source, ordinal);
  const auto edge =
      std::ranges::lower_bound(in_edges_, wanted, {}, [this](std::size_t i) { return source_and_ordinal(i); });
  if (edge != in_edges_.end() && source_and_ordinal(*edge) == wanted) return *edge;
  throw Error(ErrorKind::topology, "rank " + std::to_string(source) + " sends on an edge that this rank does not have");
}

/// What of a lane's messages this rank itself is to receive: one sink for each part, its stream relative to the part.
void Lowering::keep(const Lane& lane, const Forward& forward, Sink* parts) const {
  const Piece& piece = lane.pieces[static_cast<std::size_t>(forward.piece)];
  const std::size_t edge = edge_from(piece.source, forward.ordinal);
  const Sink kept = restriction_of(edge).to(forward.intervals, demand_.pattern.in[edge].ranges.bytes());
  const Slicer slicer(forward.offsets);
  RangeList offsets;
  kept.stream.for_each([&](Range r) { offsets.append(slicer.slice(r.offset, r.bytes)); });
  const std::int64_t size = part_bytes(lane, piece);
  if (kept.place.groups() > 0) {
    const Slicer places(kept.place);
    std::int64_t position = 0;
    offsets.for_each([&](Range range) {
      while (range.bytes > 0) {
        const std::int64_t part = (range.offset - piece.begin) / size;
        const std::int64_t in_part = range.offset - piece.begin - part * size;
        const std::int64_t n = std::min(range.bytes, size - in_part);
        parts[part].stream.append(Range{in_part, n});
        parts[part].place.append(places.slice(position, n));
        range = {range.offset + n, range.bytes - n};
        position += n;
      }
    });
    return;
  }
  for_each_pair(offsets, kept.place, [&](std::int64_t offset, std::int64_t place, std::int64_t bytes) {
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

void Lowering::receive_lane(int index) {
  const Lane& lane = it_.in_lanes[static_cast<std::size_t>(index)];
  std::vector<std::size_t> first_part;  // by piece
  std::vector<std::int64_t> part_at;    // by part: where it begins in the lane
  std::vector<Sink> mine;               // by part
  std::int64_t bytes = 0;
  for (const Piece& piece : lane.pieces) {
    first_part.push_back(mine.size());
    for (const Piece& part : parts_of(lane, piece)) {
      part_at.push_back(bytes);
      mine.push_back({part.bytes(), Buffer::receive, {}, {}});
      bytes += part.bytes();
    }
  }
  for (const Forward& forward : of_lane(it_.forwards, index))
    if (forward.destination == it_.rank)
      keep(lane, forward, mine.data() + first_part[static_cast<std::size_t>(forward.piece)]);
  const std::optional<Span>& image = in_images_[static_cast<std::size_t>(index)];
  if (!image) {
    receive(Stage::network, lane.sender, mine, between_regions(lane));
    return;
  }
  std::vector<Sink> whole;
  for (std::size_t i = 0; i < mine.size(); ++i)
    whole.push_back(
        {mine[i].bytes, Buffer::staging, {{0, mine[i].bytes}}, {{image->offset + part_at[i], mine[i].bytes}}});
  receive(Stage::network, lane.sender, whole, between_regions(lane));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    RangeList from;
    from.append(mine[i].stream, image->offset + part_at[i]);
    plan_.move({Buffer::staging, std::move(from)}, {Buffer::receive, mine[i].place}, Stage::scatter);
  }
}

/// What this rank forwards of a lane that it receives, in its staging memory.
std::map<Rank, std::vector<Segment>> Lowering::segments_for_others(int index) const {
  const Lane& lane = it_.in_lanes[static_cast<std::size_t>(index)];
  std::map<Rank, std::vector<Segment>> others;
  const std::optional<Span>& image = in_images_[static_cast<std::size_t>(index)];
  if (!image) return others;
  std::vector<std::int64_t> piece_at;
  std::int64_t at = image->offset;
  for (const Piece& piece : lane.pieces) {
    piece_at.push_back(at);
    at += piece.bytes();
  }
  for (const Forward& forward : of_lane(it_.forwards, index)) {
    if (forward.destination == it_.rank) continue;
    const auto p = static_cast<std::size_t>(forward.piece);
    RangeList ranges;
    ranges.append(forward.offsets, piece_at[p] - lane.pieces[p].begin);
    others[forward.destination].push_back({Buffer::staging, std::move(ranges)});
  }
  return others;
}

Sink Lowering::sink_of(const Arrival& arrival) const {
  const auto edge = static_cast<std::size_t>(arrival.edge);
  return restriction_of(edge).to(arrival.intervals, demand_.pattern.in[edge].ranges.bytes());
}

void Lowering::scatter_messages(int index) {
  const Lane& lane = it_.in_lanes[static_cast<std::size_t>(index)];
  const Grouping grouping{options_.relay_message_bytes};
  if (lane.receiver == it_.rank) {
    for (const auto& [destination, segments] : segments_for_others(index)) {
      std::vector<Segment> parts;
      for (const Segment& segment : segments) {
        const Slicer slicer(segment.ranges);
        for (const Range& part : stretches(lane, segment.ranges.bytes()))
          parts.push_back({segment.buffer, slicer.slice(part.offset, part.bytes)});
      }
      send(Stage::scatter, destination, parts, grouping);
    }
    return;
  }
  std::vector<Sink> sinks;
  for (const Arrival& arrival : of_lane(it_.arrivals, index)) {
    Sink whole = sink_of(arrival);
    const Landing landing{std::move(whole.stream), std::move(whole.place)};
    const Restriction restriction(landing);
    for (const Range& part : stretches(lane, whole.bytes)) sinks.push_back(restriction.to({part}, whole.bytes));
  }
  receive(Stage::scatter, lane.receiver, sinks, grouping);
}

}  // namespace laneway
