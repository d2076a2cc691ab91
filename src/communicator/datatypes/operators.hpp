#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "communicator/arguments/call.hpp"
#include "communicator/arguments/topology.hpp"
#include "plan/pattern.hpp"
#include "plan/plan.hpp"
#include "runtime/executor/combine.hpp"

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

/// Throws Error with the name of the bad argument of a call that reduces or not. Local.
void check_call(const Call& call, const Topology& topology);

/// Whether an operator is MPI's own: no handle of another one is ever the same.
[[nodiscard]] bool is_predefined_operator(MPI_Op op);

/// Of a predefined operator; of others "a user's operator".
[[nodiscard]] const char* operator_name(MPI_Op op);

/// Whether a predefined operator's results depend on the order of operands: sums and products of floating-point
/// numbers. As MPI wants the same operator and datatype everywhere, all ranks say the same.
[[nodiscard]] bool depends_on_order(MPI_Op op, MPI_Datatype type);

/// Of which an element consists.
struct Floats {
  int bytes = 0;    ///< of each: 4 or 8
  int numbers = 0;  ///< 2: a complex number
};
/// Of a predefined datatype; none: of others.
[[nodiscard]] std::optional<Floats> floats_of(MPI_Datatype type);

/// Throws Error with the name of the bad argument of a dense operation that combines. Returns why this library cannot
/// combine it where MPI may, or null.
const char* check_operator(MPI_Op op, MPI_Datatype type, const char* type_name);

/// What a dense operation combines, which is one datatype.
struct DenseReduction {
  Combination how;
  std::shared_ptr<const Combiner> combiner;  ///< null: this library cannot combine it
  const char* why = "";                      ///< then, for people
};

/// Throws Error with the name of the bad argument. An operator and a datatype that are both MPI's own fit together, or
/// it throws; whether others do is known to MPI alone, and what has gaps is left to it.
/// `by_rank`: operands are combined in the order of ranks although the operator does not ask for it.
[[nodiscard]] DenseReduction dense_reduction(MPI_Op op, MPI_Datatype type, const char* type_name, bool by_rank);

}  // namespace laneway
