#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/ranges.hpp"
#include "core/types.hpp"
#include "lanes/strategy.hpp"
#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

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
  std::vector<Lane> out_lanes;           ///< all lanes that leave the region
  std::vector<Lane> in_lanes;            ///< all lanes that enter it; `sender` is set where this rank receives
  std::map<Rank, RangeList> out_blocks;  ///< region -> this rank's block for it, as ranges of its send buffer
  std::vector<Forward> forwards;         ///< ascending (lane, piece, destination, ordinal)
  std::vector<Arrival> arrivals;         ///< ascending (lane, piece, edge's ordinal), from lanes that others receive
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
};

/// This rank's program. Pure: the same itineraries give the same plans on all ranks.
[[nodiscard]] Plan lower(const RankPattern& pattern, const Itinerary& itinerary, const LoweringOptions& options = {});

}  // namespace laneway
