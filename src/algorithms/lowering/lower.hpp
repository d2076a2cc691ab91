#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "base/bytes/ranges.hpp"
#include "base/bytes/types.hpp"
#include "plan/pattern.hpp"
#include "plan/plan.hpp"
#include "plan/writer/writer.hpp"

namespace laneway {

/// Part of an edge that a lane carries, as the lane's receiver knows it.
struct Forward {
  int lane = 0;   ///< index in Itinerary::in_lanes
  int piece = 0;  ///< index in the lane
  Rank destination = 0;
  int ordinal = 0;      ///< which of the non-empty edges from the piece's source to `destination`
  RangeList offsets;    ///< positions in the source's block, in the order of the edge's bytes
  RangeList intervals;  ///< the positions in the edge's bytes that these are
};

/// Part of an edge that a lane carries, as its destination knows it.
struct Arrival {
  int lane = 0;
  int piece = 0;
  int edge = 0;         ///< index in RankPattern::in
  RangeList intervals;  ///< positions in the edge's bytes
};

/// All that one rank knows when setup is complete.
struct Itinerary {
  Rank rank = 0;
  std::vector<bool> out_direct;          ///< for each outgoing edge: no lane carries it
  std::vector<bool> in_direct;           ///< for each incoming edge
  std::vector<bool> out_inside;          ///< for each outgoing edge: its destination is in this rank's region
  std::vector<bool> in_inside;           ///< for each incoming edge
  std::vector<Lane> out_lanes;           ///< all lanes that leave the region
  std::vector<Lane> in_lanes;            ///< all lanes that enter it; `sender` is set where this rank receives
  std::map<Rank, RangeList> out_blocks;  ///< region -> this rank's block for it, as ranges of its send buffer
  std::vector<Forward> forwards;         ///< ascending (lane, piece, destination, ordinal)
  std::vector<Arrival> arrivals;         ///< ascending (lane, piece, edge's ordinal), from lanes that others receive

  /// The same way for edges of another size: `position` maps positions in blocks and edges, std::int64_t to
  /// std::int64_t in ascending order, and `block` the ranges of a block in the send buffer. A field more does not
  /// compile before it is said here whether it has positions.
  template <class Position, class Block>
  void transform(Position&& position, Block&& block) {
    auto& [own, direct_out, direct_in, inside_out, inside_in, leaving, entering, blocks, forwarded, arriving] = *this;
    const auto transform_ranges = [&](RangeList& ranges) {
      RangeList result;
      ranges.for_each([&](Range range) {
        const std::int64_t begin = position(range.offset);
        const std::int64_t end = position(range.end());
        if (end > begin) result.append(Range{begin, end - begin});
      });
      ranges = std::move(result);
    };
    for (std::vector<Lane>* lanes : {&leaving, &entering})
      for (Lane& lane : *lanes)
        for (Piece& piece : lane.pieces) {
          auto& [source, begin, end] = piece;
          begin = position(begin);
          end = position(end);
        }
    for (auto& [region, ranges] : blocks) ranges = block(ranges);
    for (auto& [lane, piece, destination, ordinal, offsets, intervals] : forwarded) {
      transform_ranges(offsets);
      transform_ranges(intervals);
    }
    for (auto& [lane, piece, edge, intervals] : arriving) transform_ranges(intervals);
  }
};

struct LoweringOptions {
  /// Direct messages start with the destinations after this rank, in rank order, so that a receiver is not hit by all
  /// at once; otherwise they start in the order of the arguments.
  bool spread = false;
  /// Direct edges share messages up to this size. Zero: each is its own message, so that contiguous data needs no copy.
  std::int64_t direct_message_bytes = 0;
  /// On-node hops of lanes share messages up to this size: below it, that saves more than packing costs.
  std::int64_t relay_message_bytes = 16384;
  /// Between nodes, lanes are cut into messages of this size, so that gather, network and scatter of one lane overlap
  /// and no message waits for a rendezvous. Zero: a lane is one message.
  std::int64_t network_message_bytes = 57344;
  /// The level of the machine that the plan is for, 0 the outermost.
  int level = 0;
};

/// Bytes of a message of a lane from a region to itself, if those between regions have `network_message_bytes`. Such
/// lanes are cut evenly, to no more messages than hide the second hop, since all are posted.
[[nodiscard]] inline std::int64_t message_inside(std::int64_t lane_bytes, std::int64_t network_message_bytes) {
  if (network_message_bytes == 0) return 0;
  constexpr std::int64_t most_messages = 32;
  constexpr std::int64_t unit = 8;
  const std::int64_t messages = std::clamp<std::int64_t>(lane_bytes / network_message_bytes, 1, most_messages);
  return std::max<std::int64_t>(unit, (lane_bytes + messages * unit - 1) / (messages * unit) * unit);
}

/// Where `bytes` bytes of a message end up: those at the positions `stream` go to `place`, the rest are dropped.
struct Sink {
  std::int64_t bytes = 0;
  Buffer buffer = Buffer::receive;
  RangeList stream;
  RangeList place;
};

/// Neighbours in a list of segments share a message as long as it is not larger than `message_bytes`; larger segments
/// travel alone. Both sides of a pair see the same sizes and so agree.
struct Grouping {
  std::int64_t message_bytes = 0;

  static constexpr Grouping together() { return {std::numeric_limits<std::int64_t>::max()}; }
};

/// Messages of a stage to a peer start in plan order on each channel. Direct ones do by themselves, since they leave
/// the send buffer. Others start as their data arrives, so that no more than this many are under way at a time.
inline constexpr int most_under_way = channels_of_stage;

/// A pattern whose receive places are resolved: what a level of the machine is asked to move.
struct Demand {
  RankPattern pattern;
  std::vector<Landing> landings;  ///< of each incoming edge

  Demand(RankPattern edges) : pattern(std::move(edges)), landings(laneway::landings(pattern.in)) {}
  Demand() = default;
};

/// Turns an itinerary into this rank's program. Pure: the same itineraries give the same plans on all ranks.
///
/// What moves inside the region can be taken out as patterns of its own, for which plans are made elsewhere: the gather
/// for the lanes' senders, the edges inside the region, the scatter from the lanes' receivers. Their offsets are those
/// that finish() expects. The references must outlive the object.
class Lowering {
 public:
  Lowering(const Demand& demand, const Itinerary& itinerary, const LoweringOptions& options);
  ~Lowering();
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  /// The plan in which every hop inside the region is a message of its own.
  [[nodiscard]] Plan finish();

  [[nodiscard]] Demand gather() const;
  [[nodiscard]] Demand inside(bool edges, bool scatter) const;
  /// The plan that embeds plans for gather() and, together, for all of inside().
  [[nodiscard]] Plan finish(const Plan& gather, std::span<const Plan> inside);

 private:
  class Restriction;

  [[nodiscard]] RangeList own_piece(const Lane& lane, const Piece& piece) const;
  [[nodiscard]] std::int64_t message_bytes(const Lane& lane) const;
  [[nodiscard]] Grouping between_regions(const Lane& lane) const;
  [[nodiscard]] std::int64_t part_bytes(const Lane& lane, const Piece& piece) const;
  [[nodiscard]] std::vector<Range> stretches(const Lane& lane, std::int64_t bytes) const;
  [[nodiscard]] std::vector<Piece> parts_of(const Lane& lane, const Piece& piece) const;
  [[nodiscard]] const Restriction& restriction_of(std::size_t edge) const;
  [[nodiscard]] std::pair<Rank, int> source_and_ordinal(std::size_t in) const;
  [[nodiscard]] std::size_t edge_from(Rank source, int ordinal) const;
  [[nodiscard]] std::map<Rank, std::vector<Segment>> segments_for_others(int lane) const;
  [[nodiscard]] Sink sink_of(const Arrival& arrival) const;
  [[nodiscard]] std::int64_t staging_window() const;

  /// `window`, a divisor of most_under_way: of the messages of a stage to `peer`, each comes after the one so many
  /// before it, unless the stage is `direct`. It is the same for all of them.
  void send(Stage stage, Rank peer, std::span<const Segment> segments, Grouping grouping, int window = most_under_way);
  void send_message(Stage stage, Rank peer, std::span<const Segment> segments, int window);
  void receive(Stage stage, Rank peer, std::span<const Sink> sinks, Grouping grouping);
  void receive_message(Stage stage, Rank peer, std::span<const Sink> sinks);

  void messages(bool inside);
  void copy_self_edges();
  void gather_messages(std::size_t lane);
  void send_lane(std::size_t lane);
  [[nodiscard]] int window(const Lane& lane) const;
  void keep(const Lane& lane, const Forward& forward, Sink* parts) const;
  void receive_lane(int lane);
  void scatter_messages(int lane);

  const Demand& demand_;
  const Itinerary& it_;
  const LoweringOptions options_;
  std::vector<int> ordinals_;
  std::vector<std::size_t> in_edges_;  // ascending (source, ordinal), where lanes end
  std::map<Rank, Slicer> blocks_;      // of Itinerary::out_blocks
  mutable std::map<std::size_t, std::unique_ptr<const Restriction>> restrictions_;  // by incoming edge, as asked for
  PlanWriter plan_;
  std::vector<std::optional<Span>> out_images_;  ///< by outgoing lane: staging memory where this rank assembles it
  std::vector<std::optional<Span>> in_images_;   ///< by incoming lane: staging memory from which this rank forwards it
};

}  // namespace laneway
