#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/collective/layout.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// How an all-to-all moves whose blocks differ in size, of which only their two ends know it: between two regions,
/// short blocks travel together. The ranks of a region know what they send and receive all together, so both regions
/// know how long the bundle is, and it needs no header. It is cut where its bytes would keep one rank busy: each lane
/// takes the blocks of some destinations, between a pair of ranks of its own.
class BundleLanes {
 public:
  /// `layout` must outlive this. `lane_bytes`: as many as are no reason for another lane; 0: no bundle is cut.
  BundleLanes(const Layout& layout, std::int64_t lane_bytes) : layout_(layout), lane_bytes_(lane_bytes) {}

  /// Messages between two regions that so many bytes are cut into; 0 for none.
  [[nodiscard]] Rank lanes(Rank from, Rank to, std::int64_t bytes) const {
    if (lane_bytes_ == 0) return bytes > 0 ? 1 : 0;
    const std::int64_t wanted = (bytes + lane_bytes_ - 1) / lane_bytes_;
    return static_cast<Rank>(std::min<std::int64_t>(wanted, most_lanes(from, to)));
  }
  [[nodiscard]] Rank most_lanes(Rank from, Rank to) const { return std::min(layout_.size(from), layout_.size(to)); }

  /// @name What a lane takes
  /// Destinations [first, first of the next one), by their numbers among the members of a region of so many.
  /// @{
  [[nodiscard]] static Rank first(Rank members, Rank lanes, Rank lane) {
    return static_cast<Rank>(std::int64_t{members} * lane / lanes);
  }
  [[nodiscard]] static Rank lane_of(Rank members, Rank lanes, Rank index) {
    return static_cast<Rank>(((std::int64_t{index} + 1) * lanes - 1) / members);
  }
  /// @}

  /// @name Between whom it goes: no two lanes of two regions have a rank in common
  /// The lane whose bytes the member with this number sends, or receives; it is one of those there are if it is less
  /// than their number.
  /// @{
  [[nodiscard]] Rank lane_sent_by(Rank index, Rank from, Rank to) const { return lane_at(index, from, to, from); }
  [[nodiscard]] Rank lane_received_by(Rank index, Rank from, Rank to) const { return lane_at(index, from, to, to); }
  /// The rank.
  [[nodiscard]] Rank sender(Rank lane, Rank from, Rank to) const {
    return layout_.member(from, (turn(from, to) + lane) % layout_.size(from));
  }
  [[nodiscard]] Rank receiver(Rank lane, Rank from, Rank to) const {
    return layout_.member(to, receiving(lane, from, to));
  }
  /// The receiver's number among the members of its region.
  [[nodiscard]] Rank receiving(Rank lane, Rank from, Rank to) const {
    return (turn(from, to) + lane) % layout_.size(to);
  }
  /// @}

  /// The most that `rank` may receive, or send, at a time where blocks of one byte travel together: what blocks of n
  /// bytes need is n times as much.
  [[nodiscard]] std::int64_t most_received(Rank rank) const { return most_moved(rank, false); }
  [[nodiscard]] std::int64_t most_sent(Rank rank) const { return most_moved(rank, true); }

 private:
  [[nodiscard]] std::int64_t most_moved(Rank rank, bool sends) const;
  /// Other regions' bundles are the members' in turn, beginning with that of the next region.
  [[nodiscard]] Rank turn(Rank from, Rank to) const {
    const Rank regions = layout_.regions();
    return (to - from + regions) % regions - 1;
  }
  [[nodiscard]] Rank lane_at(Rank index, Rank from, Rank to, Rank at) const {
    const Rank size = layout_.size(at);
    return (index - turn(from, to) % size + size) % size;
  }

  const Layout& layout_;
  std::int64_t lane_bytes_;
};

/// The longest block that is to travel in a bundle: what its own message would cost the processors of its ends, and the
/// network device that all ranks of its node share, pays for copying so many bytes, on nodes of so many ranks. At most
/// `most`; bytes.
[[nodiscard]] std::int64_t longest_in_bundle(const Parameters& parameters, Rank ranks_of_node, std::int64_t most);

/// The same where all ranks are on one node: a message there costs its latency, and copies of its own.
[[nodiscard]] std::int64_t longest_in_memory(const Parameters& parameters, Rank ranks_of_node, std::int64_t most);

}  // namespace laneway
