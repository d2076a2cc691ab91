#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "algorithms/collective/call.hpp"
#include "algorithms/collective/layout.hpp"
#include "plan/writer/writer.hpp"

namespace laneway::dense {

/// Some ranks, in an order that all of them know.
struct Group {
  std::vector<Rank> ranks;
  Rank me = -1;  ///< the number of this rank among them; -1: not one of them

  [[nodiscard]] Rank size() const { return static_cast<Rank>(ranks.size()); }
  [[nodiscard]] Rank rank(std::int64_t i) const { return ranks[static_cast<std::size_t>(i)]; }
  /// Modulo their number.
  [[nodiscard]] Rank around(std::int64_t i) const {
    const std::int64_t n = size();
    return rank(((i % n) + n) % n);
  }
};
[[nodiscard]] Group group_of(std::vector<Rank> ranks, Rank me);
[[nodiscard]] Group everyone(const Layout& layout, Rank me);
[[nodiscard]] Group region_of(const Layout& layout, Rank me);
/// One rank of each region: the one that has lane `lane`, which is member lane modulo the region's size.
[[nodiscard]] Group lane_of(const Layout& layout, Rank lane, Rank me);
[[nodiscard]] inline Rank owner(const Layout& layout, Rank region, Rank lane) {
  return layout.member(region, lane % layout.size(region));
}
/// The first members of the regions; of the root's region the root.
[[nodiscard]] Group leaders_of(const Layout& layout, Rank root, Rank me);
[[nodiscard]] inline Rank leader_of(const Layout& layout, Rank region, Rank root) {
  return layout.region(root) == region ? root : layout.leader(region);
}

/// The neighbours of a rank in a tree. Children in the order in which they are served; `below`: the ranks of each
/// child's subtree, the child first.
struct Tree {
  Rank parent = -1;
  std::vector<Rank> children;
  std::vector<std::vector<Rank>> below;
};
/// `root` is an index. Who has the data gives it to `radix` - 1 others in each round.
[[nodiscard]] Tree knomial(const Group& group, Rank root, Rank radix);
[[nodiscard]] Tree binomial(const Group& group, Rank root);
[[nodiscard]] Tree chain(const Group& group, Rank root);
[[nodiscard]] Tree flat(const Group& group, Rank root);
/// Of a lane: as long as those of all lanes of the largest node together have `segment_bytes`; 0: not cut.
[[nodiscard]] std::int64_t lane_segment(const Layout& layout, std::int64_t segment_bytes);
/// A chain for what is cut to several segments, so that no link has the data twice; else binomial.
[[nodiscard]] Tree lane_tree(const Group& group, Rank root, std::int64_t bytes, std::int64_t segment_bytes);
/// Between leaders, then inside of regions: both sorts of trees.
using MakeTree = Tree (*)(const Group& group, Rank root);
/// Of short data, which is not worth the latency of many levels: a sender's work for a message is a part of its
/// latency, of one between nodes a larger one than in memory. What is long is sent by no rank more often than it must
/// be.
constexpr Rank short_radix_between = 4;
constexpr Rank short_radix_inside = 8;
[[nodiscard]] MakeTree tree_between(bool is_short);
[[nodiscard]] MakeTree tree_inside(bool is_short);
[[nodiscard]] Tree over_regions(const Layout& layout, Rank root, Rank me, MakeTree between, MakeTree inside);

/// Parts of a vector of whole elements: part i is [at[i], at[i + 1]).
struct Cuts {
  std::vector<std::int64_t> at;

  [[nodiscard]] Rank parts() const { return static_cast<Rank>(at.size()) - 1; }
  [[nodiscard]] std::int64_t begin(std::int64_t i) const { return at[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::int64_t bytes(std::int64_t i, std::int64_t n = 1) const { return begin(i + n) - begin(i); }
};
[[nodiscard]] Cuts cut_evenly(std::int64_t bytes, std::int64_t element_bytes, std::int64_t parts);
/// To pieces of no more than `segment` bytes, or one element; evenly.
[[nodiscard]] Cuts cut_to_segments(std::int64_t bytes, std::int64_t element_bytes, std::int64_t segment);

/// Bytes [begin, begin + bytes) of what a segment names.
[[nodiscard]] inline Segment part(const Segment& whole, std::int64_t begin, std::int64_t bytes) {
  return {whole.buffer, whole.ranges.slice(begin, bytes)};
}
[[nodiscard]] inline Segment part(const Segment& whole, const Cuts& cuts, std::int64_t i, std::int64_t n = 1) {
  return part(whole, cuts.begin(i), cuts.bytes(i, n));
}
[[nodiscard]] inline Segment segment_of(const Span& span) {
  return {span.buffer, {{span.offset, span.bytes}}};
}
[[nodiscard]] inline Segment staged(PlanWriter& writer, std::int64_t bytes) {
  return segment_of(writer.stage(bytes));
}

/// What a call's rank contributes and gets: the block `i` of its arguments.
[[nodiscard]] Segment input(const DenseCall& call, Rank i);
[[nodiscard]] Segment output(const DenseCall& call, Rank i);

/// Collects parts, and hands them on whenever they are `segment` bytes: both sides see the same sizes.
class Cutter {
 public:
  Cutter(std::int64_t segment, std::function<void(Parts)> message) : segment_(segment), message_(std::move(message)) {}

  void add(const Segment& part) {
    append(parts_, part);
    bytes_ += part.ranges.bytes();
  }
  /// Here a message may end.
  void may_end() {
    if (bytes_ >= segment_) end();
  }
  void end() {
    if (bytes_ > 0) message_(std::move(parts_));
    parts_.clear();
    bytes_ = 0;
  }

 private:
  std::int64_t segment_;
  std::function<void(Parts)> message_;
  Parts parts_;
  std::int64_t bytes_ = 0;
};

// Down a tree, or up.
/// From the root's `data` to all others'. Segments follow each other.
void broadcast(PlanWriter& writer, const Tree& tree, const Segment& data, std::int64_t segment_bytes);
/// The transpose: what all have in `own` is combined into the root's `sum`. Those between have partial sums in theirs;
/// leaves have none. Long data is not copied to `sum` before: what comes first arrives there.
void reduce(PlanWriter& writer, const Tree& tree, const Segment& own, const Segment& sum, const Combination& how,
            std::int64_t segment_bytes, bool is_short);

// In a group, on vectors in `data`, each rank with its own. Others than members do nothing.
/// Each part ends up combined at the rank of its number; what else is in `data` is lost.
void reduce_scatter_ring(PlanWriter& writer, const Group& group, const Segment& data, const Cuts& cuts,
                         const Combination& how);
/// Each rank's part, at its number, goes to all others. The transpose of reduce_scatter_ring.
void allgather_ring(PlanWriter& writer, const Group& group, const std::vector<Segment>& parts);
/// The same in a number of rounds that is the logarithm of their number.
void reduce_scatter_halving(PlanWriter& writer, const Group& group, const Segment& data, const Cuts& cuts,
                            const Combination& how);
void allgather_doubling(PlanWriter& writer, const Group& group, const Segment& data, const Cuts& cuts);
void allreduce_doubling(PlanWriter& writer, const Group& group, const Segment& data, const Combination& how);
/// By halving and doubling.
void allreduce_halves(PlanWriter& writer, const Group& group, const Segment& data, const Combination& how);
/// Whether two rings beat halving and doubling: where the number of ranks is no power of two, these send the whole
/// vector twice more. A ring sends and receives 2 (1 - 1 / ranks) vectors.
[[nodiscard]] bool is_for_rings(Rank ranks, std::int64_t bytes);
/// By rings, or by halves.
void allreduce_lane(PlanWriter& writer, const Group& group, const Segment& data, const Combination& how);
/// Lane after lane, its owner combines what the members of its region have in `own` into its part of `sum`, where it
/// first puts its own. Nothing else of `sum` is touched.
void reduce_on_node(PlanWriter& writer, const Layout& layout, Rank me, const Segment& own, const Segment& sum,
                    const Cuts& cuts, const Combination& how);
/// Owners of lanes give their parts of `data` to the others of their region.
void share_on_node(PlanWriter& writer, const Layout& layout, Rank me, const Segment& data, const Cuts& cuts);
/// What each rank of a group has for each other one, all by their numbers in the group.
struct Items {
  std::function<Parts(Rank to)> sent;
  std::function<Parts(Rank from)> received;
  std::function<std::int64_t(Rank from, Rank to)> bytes;  ///< of what this rank passes on
};
/// An item hops by the digits of the number of ranks to go, whose base is `radix`, the lowest first. Hops by one digit
/// are under way at once. From the number of ranks on nothing is passed on.
void alltoall_by_hops(PlanWriter& writer, const Group& group, std::int64_t radix, const Items& items);
/// Sizes that go the same way before, in a round for each digit. `item(from, to)` says what is passed on.
[[nodiscard]] std::vector<std::vector<SizeHop>> sizes_by_hops(const Group& group, std::int64_t radix,
                                                              const std::function<Passed(Rank, Rank)>& item);
/// Calls f(unit, distance) for each hop: `distance` is a digit times the `unit` of its place.
template <class F>
void for_each_hop(std::int64_t ranks, std::int64_t radix, F&& f) {
  for (std::int64_t unit = 1; unit < ranks; unit *= radix)
    for (std::int64_t distance = unit; distance < std::min(unit * radix, ranks); distance += unit) f(unit, distance);
}
/// Items of a rank that take such a hop.
[[nodiscard]] inline std::int64_t items_of_hop(std::int64_t ranks, std::int64_t radix, std::int64_t unit,
                                               std::int64_t distance) {
  const std::int64_t period = unit * radix;
  return ranks / period * unit + std::clamp<std::int64_t>(ranks % period - distance, 0, unit);
}

/// Blocks of any sizes; block i is that of rank i, which has it.
void allgather_bruck(PlanWriter& writer, const Group& group, const std::vector<Segment>& blocks);

}  // namespace laneway::dense
