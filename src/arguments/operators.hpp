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
  bool has_gaps = false;                     ///< an element takes more bytes than its datatype's size
};

/// From the arguments of a call. All datatypes must be made of one predefined type, to which the operator applies; or,
/// with a user's operator, all be one type without gaps. Throws Error with the name of the bad argument.
[[nodiscard]] Reduction reduction_of(const Call& call, const Topology& topology);

/// Whether an operator is MPI's own: no handle of another one is ever the same.
[[nodiscard]] bool is_predefined(MPI_Op op);

}  // namespace laneway
