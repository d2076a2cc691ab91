// The neighborhood operations: which of them are taken over. The decision depends only on what all ranks of the
// communicator know: how it was created, the hints that they have agreed on, and the kind of the operation.
#pragma once

#include <mpi.h>
#ifdef LANEWAY_HAS_EXTENSION_PERSISTENT
#include <mpi-ext.h>
#endif

#include <optional>

#include "c/operation.hpp"
#include "interpose/next.hpp"

namespace laneway::interpose {

/// Where a call of the MPI function `name` is left to the MPI library, and nothing where it is taken over. Counts it.
[[nodiscard]] std::optional<MPI_Comm> blocking_left_on(const char* name, MPI_Comm comm, const Call& call);
[[nodiscard]] std::optional<MPI_Comm> nonblocking_left_on(const char* name, MPI_Comm comm, const Call& call);
/// Whether it is taken over.
[[nodiscard]] bool takes_persistent(const char* name, MPI_Comm comm, const Call& call);

/// Those that are taken over. Return an MPI error code.
[[nodiscard]] int run_blocking(const char* name, MPI_Comm comm, const Call& call);
[[nodiscard]] int make_nonblocking(const char* name, MPI_Comm comm, MPI_Request* request, const Call& call);
[[nodiscard]] int make_persistent(const char* name, MPI_Comm comm, MPI_Info info, MPI_Request* request,
                                  const Call& call);

/// The bodies of MPI's functions. `pass` makes the call of the MPI library or of a tool before it, on a communicator.
template <class Pass>
int take_blocking(const char* name, MPI_Comm comm, const Call& call, const Pass& pass) {
  const std::optional<MPI_Comm> left = blocking_left_on(name, comm, call);
  return left ? pass(*left) : run_blocking(name, comm, call);
}
template <class Pass>
int take_nonblocking(const char* name, MPI_Comm comm, MPI_Request* request, const Call& call, const Pass& pass) {
  const std::optional<MPI_Comm> left = nonblocking_left_on(name, comm, call);
  return left ? pass(*left) : make_nonblocking(name, comm, request, call);
}
template <class Pass>
int take_persistent(const char* name, MPI_Comm comm, MPI_Info info, MPI_Request* request, const Call& call,
                    const Pass& pass) {
  return takes_persistent(name, comm, call) ? make_persistent(name, comm, info, request, call) : pass(comm);
}

}  // namespace laneway::interpose
