#pragma once

#include <mpi.h>

#include <memory>

#include "communicator/arguments/collective.hpp"
#include "communicator/communicator.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// Runs a dense operation. Returns MPI's code where it is MPI's own, whose error handler has been called then.
/// `known`: what Communicator::find_any finds, which takes as long as the rest of a look-up.
int run_dense(MPI_Comm comm, Communicator* known, const CollectiveCall& call);
inline int run_dense(MPI_Comm comm, const CollectiveCall& call) {
  return run_dense(comm, Communicator::find_any(comm), call);
}

/// Sums of floating-point numbers are tried here, under lnw_order=tried and where they have not been. Collective.
void try_sums(MPI_Comm comm, const CollectiveCall& call);

/// By which rule, or MPI's own operation, run_dense runs such a call, and why. Collective in a communicator's first
/// one.
[[nodiscard]] Reasons reasons_of_dense(MPI_Comm comm, const CollectiveCall& call);

/// Starts one, without blocking. Local.
[[nodiscard]] std::unique_ptr<Request> start_dense(MPI_Comm comm, const CollectiveCall& call);

/// Makes one that can be started again and again. Collective: if the arguments of any rank are bad, all ranks throw.
[[nodiscard]] std::unique_ptr<Request> make_dense(MPI_Comm comm, MPI_Info info, const CollectiveCall& call);

}  // namespace laneway
