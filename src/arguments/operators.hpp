#pragma once

#include <mpi.h>

#include <memory>

#include "arguments/call.hpp"
#include "arguments/topology.hpp"
#include "exec/combine.hpp"
#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// What a call that reduces does.
struct Reduction {
  Combination how;
  std::shared_ptr<const Combiner> combiner;  ///< by MPI_Reduce_local
  RankPattern pattern;                       ///< whole elements
};

/// From the arguments of a call. All datatypes must be made of one predefined type, to which the operator applies; or,
/// with a user's operator, all be one type without gaps. Throws Error with the name of the bad argument.
[[nodiscard]] Reduction reduction_of(const Call& call, const Topology& topology);

}  // namespace laneway
