#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/groups.hpp"
#include "collectives/rules.hpp"

/// What the registry's rows name, by kind. All are pure functions of (rank, layout, call).
namespace laneway::dense {

using Write = void(Schedule& schedule, const DenseCall& call, const Layout& layout, const DenseSettings& settings);
using Wants = std::vector<Want>(Rank rank, Rank root, const Layout& layout, const DenseSettings& settings);

namespace alltoall {
Write nonblocking, pairwise, bruck, hierarchical, multi_leader, node_aware, locality_aware, multi_leader_locality;
Wants want_hierarchical, want_multi_leader, want_node_aware, want_locality_aware, want_multi_leader_locality;
}  // namespace alltoall

namespace allgather {
Write direct, ring, bruck, node_aware, multi_lane;
}

namespace gather {
Write direct, binomial, node_aware;
Wants want_node_aware;
}  // namespace gather

namespace scatter {
Write direct, binomial, node_aware;
Wants want_node_aware;
}  // namespace scatter

namespace bcast {
Write binomial, node_aware, chain, multi_lane;
}

namespace reduction {
Write direct, binomial, node_aware, chain, multi_lane, ordered;
}

namespace allreduce {
Write recursive_doubling, ring, rabenseifner, node_aware, multi_lane, locality_aware, ordered;
}

namespace reduce_scatter {
Write pairwise, ring, recursive_halving, node_aware;
}

namespace scan {
Write recursive_doubling, linear, node_aware;
}

namespace barrier {
Write dissemination, node_aware;
}

/// Of alltoall: what this rank sends. In place that is copied first, because it lies where data arrives.
class Inputs {
 public:
  Inputs(Schedule& schedule, const DenseCall& call, Rank ranks);

  [[nodiscard]] Segment of(Rank destination) const;

 private:
  const DenseCall& call_;
  std::int64_t copy_ = 0;
  std::vector<std::int64_t> begin_;  // in place: in the copy
};

/// `result` = piece of rank 0 op that of rank 1 op ...: each rank sends `piece(j)` of what it has to rank j, and
/// combines what comes in the order of ranks.
void combine_in_order(Schedule& schedule, const DenseCall& call, const Layout& layout,
                      const std::function<Segment(Rank)>& piece, const Segment& result);

}  // namespace laneway::dense
