#pragma once

#include <mpi.h>

#include <atomic>

#include "laneway/laneway.h"

namespace laneway::interpose {

/// What programs hold for a taken-over operation is a request of the MPI library: the receive of an empty message that
/// this process sends itself when the operation is complete. So waiting, testing, arrays of requests of both kinds,
/// statuses and null or inactive requests are the MPI library's own business.

/// Operations that have handles, and those of them that have been started and are not complete.
inline std::atomic<int> known_operations{0};
inline std::atomic<int> active_operations{0};

/// A handle for a nonblocking operation, which is active, or a persistent one. LNW_REQUEST_NULL: one in which there is
/// nothing to do. Returns an MPI error code.
int give_handle(LNW_Request operation, bool persistent, MPI_Request* handle);

/// Advances all active operations, and completes the handles of those that are complete. Never blocks; does nothing if
/// another thread is at it. Returns how many have been completed.
int advance();

/// What the last operation that failed has returned, since the last call.
[[nodiscard]] int take_failure();

/// Before MPI_Finalize: frees what is left.
void free_all();

}  // namespace laneway::interpose
