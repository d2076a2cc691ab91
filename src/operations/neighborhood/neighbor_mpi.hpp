#pragma once

#include <mpi.h>

#include <memory>

#include "communicator/arguments/call.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// Whether a nonblocking call is carried out by MPI's own function: of `comm`, which must not be null, nothing is
/// known, and to make the private duplicate would be to wait for other ranks, who may be waiting for this one
/// (duplicates_apart). The same on all ranks, since only collective calls make a communicator known. Local.
[[nodiscard]] bool is_left_to_mpi(MPI_Comm comm, const Call& call);

/// Starts it. Local. Throws Error with the name of the argument that is bad.
[[nodiscard]] std::unique_ptr<Request> start_by_mpi(MPI_Comm comm, const Call& call);

}  // namespace laneway
