#pragma once

#include "collectives/rules.hpp"

/// The rules' costs in closed form, for nodes as large as the largest. Named as the rules.
namespace laneway::dense::costs {

using Cost = DenseCost(const DenseFacts& facts, const Layout& layout, const DenseSettings& settings);

namespace alltoall {
Cost pairwise, nonblocking, bruck, hierarchical, multi_leader, node_aware, locality_aware, multi_leader_locality;
}
namespace allgather {
Cost direct, ring, bruck, node_aware, multi_lane;
}
/// Of gather, and of scatter.
namespace gather {
Cost direct, binomial, node_aware;
}
/// Of bcast, and of reduce.
namespace tree {
Cost direct, binomial, node_aware, chain, multi_lane, ordered;
}
namespace allreduce {
Cost recursive_doubling, ring, rabenseifner, node_aware, multi_lane, locality_aware, ordered;
}
namespace reduce_scatter {
Cost pairwise, ring, recursive_halving, node_aware;
}
namespace scan {
Cost recursive_doubling, linear, node_aware;
}
namespace barrier {
Cost dissemination, node_aware;
}

}  // namespace laneway::dense::costs
