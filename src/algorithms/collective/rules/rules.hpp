#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/collective/cost_parts.hpp"
#include "algorithms/collective/rules.hpp"

/// What files of rules share.
namespace laneway::dense {

inline constexpr DenseTraits relays{.relays = true};

/// Sources that several rules have.
namespace cited {
inline constexpr std::string_view all_to_all =
    "A. Bienz and others: all-to-all for many-core nodes (talk), Algorithms 1 to 5; node-aware forms after these";
inline constexpr std::string_view multi_lane =
    "J. L. Traeff, S. Hunold: Decomposing MPI collectives for exploiting multi-lane communication, CLUSTER 2020";
inline constexpr std::string_view mpich =
    "R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH, 2005";
inline constexpr std::string_view bruck_1997 =
    "J. Bruck and others: Efficient algorithms for all-to-all communications in multiport message-passing systems, "
    "1997";
inline constexpr std::string_view by_radix =
    "J. Bruck and others: Efficient algorithms for all-to-all communications in multiport message-passing systems, "
    "1997; of unequal blocks K. Fan and others: Configurable non-uniform all-to-all algorithms (ParLogNa, ParLinNa), "
    "HPDC 2025";
inline constexpr std::string_view canonical = "operands in the order of ranks, as in MPI 4.1, 6.9.1";
}  // namespace cited

// Costs of rules that move as much as others, or the half.
using Cost = DenseCost(const Shape& shape);
namespace alltoall {
Cost nonblocking_cost;
}
namespace gather {
Cost direct_cost;
}
namespace bcast {
Cost binomial_cost, node_aware_cost, chain_cost, multi_lane_cost;
}
namespace reduction {
Cost ordered_cost;
}
namespace allreduce {
Cost ring_cost, rabenseifner_cost, between_leaders_cost;
}
namespace one_hop {
/// From the root to all ranks of its node, each of which passes on to the leaders of some other nodes, and these to
/// their ranks.
[[nodiscard]] Tree tree_of(const Layout& layout, Rank root, Rank me);
}  // namespace one_hop
namespace barrier {
/// Ranks tell their node's leader; leaders tell `radix` - 1 others at a time, and then their ranks.
void through_leaders(PlanWriter& writer, const DenseCall& call, const Layout& layout, std::int64_t radix);
[[nodiscard]] DenseCost through_leaders_cost(const Shape& s, double radix);
}  // namespace barrier

/// Of alltoall: what this rank sends. In place that is copied first, because it lies where data arrives.
class Inputs {
 public:
  Inputs(PlanWriter& writer, const DenseCall& call, Rank ranks);

  [[nodiscard]] Segment of(Rank destination) const;

 private:
  const DenseCall& call_;
  std::int64_t copy_ = 0;
  std::vector<std::int64_t> begin_;  // in place: in the copy
};

[[nodiscard]] inline std::int64_t radix_of(const DenseSettings& settings) {
  return std::max<std::int64_t>(settings.radix, 2);
}

/// The messages of an exchange among several ranks, in steps: `in_turns`, each step's after those of the last one
/// (pairwise), else all at once (nonblocking).
class Turns {
 public:
  Turns(PlanWriter& writer, bool in_turns) : writer_(writer), in_turns_(in_turns) {}

  void receive(Rank from, Parts to) { add(writer_.receive(from, std::move(to), before_)); }
  void send(Rank to, Parts from) { add(writer_.send(to, std::move(from), before_)); }
  /// Of a step without messages the next one waits for those of the one before.
  void end_step() {
    if (in_turns_ && !step_.empty()) before_ = std::exchange(step_, {});
  }

 private:
  void add(int message) {
    if (in_turns_ && message >= 0) step_.push_back(message);
  }

  PlanWriter& writer_;
  bool in_turns_;
  std::vector<int> before_;
  std::vector<int> step_;
};

/// Of alltoall: each rank of a group sends its blocks to the others, beginning with the next one.
void exchange_blocks(PlanWriter& writer, const DenseCall& call, const Group& group, const Inputs& inputs,
                     bool in_turns);

/// `result` = piece of rank 0 op that of rank 1 op ...: each rank sends `piece(j)` of what it has to rank j, and
/// combines what comes in the order of ranks.
void combine_in_order(PlanWriter& writer, const DenseCall& call, const Layout& layout,
                      const std::function<Segment(Rank)>& piece, const Segment& result);

}  // namespace laneway::dense
