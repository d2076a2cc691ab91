// The dense operations: which blocking calls are taken over. Whether nodes are joined is learnt from all ranks of a
// communicator, so all of them must run this library: LANEWAY_DENSE=1 promises it. What decides after that is equal on
// all ranks: the kind, the operator, the bytes of a block, which MPI wants to be the same everywhere, and the number of
// the call.
#pragma once

#include <mpi.h>

#include "communicator/arguments/collective.hpp"
#include "preload/next.hpp"

namespace laneway::interpose {

/// Whether dense operations are looked at: under LANEWAY_DENSE=1 or, to be counted, LANEWAY_DISABLE=count.
[[nodiscard]] bool looks_at_dense();

/// Whether a call of the MPI function `name` is taken over. Counts it. Collective where that is to be found out.
[[nodiscard]] bool takes_over(const char* name, MPI_Comm comm, const CollectiveCall& call) noexcept;

/// One that is taken over. Returns an MPI error code.
[[nodiscard]] int run_taken(const char* name, MPI_Comm comm, const CollectiveCall& call);

/// The bodies of MPI's functions. `describe` makes the value of the arguments, `pass` the call of the MPI library or of
/// a tool before it.
template <class Describe, class Pass>
int take_dense(const char* name, MPI_Comm comm, const Describe& describe, const Pass& pass) {
  static const bool looks = looks_at_dense();
  if (!looks) [[likely]]
    return pass();
  const CollectiveCall call = describe();
  return takes_over(name, comm, call) ? run_taken(name, comm, call) : pass();
}

}  // namespace laneway::interpose
