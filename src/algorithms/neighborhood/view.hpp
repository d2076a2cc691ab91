#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"
#include "machine/machine.hpp"

namespace laneway {

/// What one source has for another region, as one block of bytes in canonical order.
struct SourceBytes {
  Rank rank = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const SourceBytes&, const SourceBytes&) = default;
};

/// An original edge between two regions, with its bytes before deduplication.
struct CrossEdge {
  Rank source = 0;
  Rank destination = 0;
  std::int64_t bytes = 0;

  friend auto operator<=>(const CrossEdge&, const CrossEdge&) = default;
};

/// All that goes from one region to another, as either side sees it.
struct Traffic {
  Rank region = 0;                   ///< id of the other region
  std::vector<SourceBytes> sources;  ///< ascending rank
  std::vector<CrossEdge> edges;      ///< ascending (source, destination); the first is the representative edge

  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] std::span<const CrossEdge> edges_of(Rank source) const;
};

/// Of these edges together, before deduplication.
[[nodiscard]] std::int64_t bytes_of(std::span<const CrossEdge> edges);

/// The edges of one rank that stay in its region and that no lane may carry, without those to itself.
struct InsideEdges {
  std::int64_t messages_out = 0;
  std::int64_t bytes_out = 0;
  std::int64_t messages_in = 0;
  std::int64_t bytes_in = 0;

  void put(Writer& writer) const;
  static InsideEdges get(Reader& reader);
  friend bool operator==(const InsideEdges&, const InsideEdges&) = default;
};

/// The traffic of one region with all others: sizes only. Every member holds the same view.
struct RegionView {
  Region region;
  std::vector<Rank>
      inner;  ///< for each member the id of its region at the next level, or its own rank if there is none
  std::vector<InsideEdges> inside;  ///< of each member
  std::vector<Traffic> out;         ///< ascending region
  std::vector<Traffic> in;          ///< ascending region
  std::vector<int> distance;        ///< of each member to the nearest network interface; empty: nothing is known
  bool merged = true;  ///< false: every edge has bytes of its own, one after another in the order of `edges`

  [[nodiscard]] int distance_of(std::size_t member) const { return distance.empty() ? 0 : distance[member]; }
};

/// One member's part of its region's view.
struct ViewPart {
  struct Leaving {
    Rank region, destination;
    std::int64_t bytes;
  };
  struct Entering {
    Rank region, source;
    std::int64_t bytes;
  };
  struct BlockSize {
    Rank region, source;
    std::int64_t bytes;
  };
  std::vector<Leaving> leaving;       ///< own edges to other regions
  std::vector<Entering> entering;     ///< edges of other regions to this rank
  std::vector<BlockSize> out_blocks;  ///< own blocks, by destination region (`source` is this rank)
  std::vector<BlockSize> in_blocks;   ///< blocks of remote sources that were told to this rank, by source region
  InsideEdges inside;                 ///< own edges that stay in the region
  Rank inner = 0;                     ///< id of this rank's region at the next level, or its own rank
  std::int32_t distance = 0;          ///< to the nearest network interface

  [[nodiscard]] Bytes to_bytes() const;
  static ViewPart from_bytes(const Bytes& bytes);
};

/// `parts[i]` is the part of `region.members[i]`.
[[nodiscard]] RegionView make_view(Region region, const std::vector<ViewPart>& parts);

/// The same traffic as strategies that merge nothing see it.
[[nodiscard]] RegionView without_merging(RegionView view);

}  // namespace laneway
