// The neighborhood operations: which of them are taken over. The decision depends only on what all ranks of the
// communicator know: how it was created, the hints that they have agreed on, and the kind of the operation.
#pragma once

#include <mpi.h>
#ifdef LANEWAY_HAS_EXTENSION_PERSISTENT
#include <mpi-ext.h>
#endif

#include <memory>
#include <optional>

#include "api/operation.hpp"
#include "preload/calls/requests.hpp"
#include "preload/next.hpp"
#include "preload/report/rows.hpp"

namespace laneway::interpose {

/// Where a call is left to the MPI library, and nothing where it is taken over; its row is not null.
struct Decision {
  std::optional<MPI_Comm> left;
  std::shared_ptr<Row> row;
};
/// Of a call of the MPI function `name`. Counts it.
[[nodiscard]] Decision decide_blocking(const char* name, MPI_Comm comm, const Call& call);
[[nodiscard]] Decision decide_nonblocking(const char* name, MPI_Comm comm, const Call& call);
/// Where a persistent one is made by the MPI library alone. Its exchanges are not counted there.
[[nodiscard]] std::optional<MPI_Comm> persistent_left_on(const char* name, MPI_Comm comm, const Call& call);

/// Whether this rank finds nothing wrong with a call. Only such a call counts where ranks count alike: of another one
/// they know nothing. Local.
[[nodiscard]] bool has_good_arguments(const Call& call, const Topology& topology);

/// Those that are taken over. Return an MPI error code.
[[nodiscard]] int run_blocking(const char* name, MPI_Comm comm, const Call& call, Row& row);
[[nodiscard]] int make_nonblocking(const char* name, MPI_Comm comm, MPI_Request* request, const Call& call, Row& row);
[[nodiscard]] int make_persistent(const char* name, MPI_Comm comm, MPI_Info info, MPI_Request* request,
                                  const Call& call);

/// On which communicator the MPI library's own is made beside a persistent operation, to be timed now and then; nothing
/// where it is not. The same on all ranks.
[[nodiscard]] std::optional<MPI_Comm> compared_on(const char* name, MPI_Comm comm, const Call& call);

/// The bodies of MPI's functions. `pass` makes the call of the MPI library or of a tool before it, on a communicator.
template <class Pass>
int take_blocking(const char* name, MPI_Comm comm, const Call& call, const Pass& pass) {
  const Decision made = decide_blocking(name, comm, call);
  return made.left ? pass(*made.left) : run_blocking(name, comm, call, *made.row);
}
template <class Pass>
int take_nonblocking(const char* name, MPI_Comm comm, MPI_Request* request, const Call& call, const Pass& pass) {
  const Decision made = decide_nonblocking(name, comm, call);
  return made.left ? pass(*made.left) : make_nonblocking(name, comm, request, call, *made.row);
}
template <class Pass>
int take_persistent(const char* name, MPI_Comm comm, MPI_Info info, MPI_Request* request, const Call& call,
                    const Pass& pass) {
  if (const std::optional<MPI_Comm> left = persistent_left_on(name, comm, call)) return pass(*left);
  if (const int code = make_persistent(name, comm, info, request, call); code != MPI_SUCCESS) return code;
  const std::optional<MPI_Comm> where = compared_on(name, comm, call);
  if (!where) return MPI_SUCCESS;
  const MPI_Request made = *request;
  const int code = pass(*where);
  if (code == MPI_SUCCESS) compare_with(made, *request);
  *request = made;
  return code;
}

}  // namespace laneway::interpose
