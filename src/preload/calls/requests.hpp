#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "laneway/laneway.h"
#include "preload/report/rows.hpp"

namespace laneway::interpose {

/// What programs hold for a taken-over operation is a request of the MPI library: the receive of an empty message that
/// this process sends itself when the operation is complete. So waiting, testing, arrays of requests of both kinds,
/// statuses and null or inactive requests are the MPI library's own business.

/// Operations that have handles, and those of them that have been started and are not complete.
inline std::atomic<int> known_operations{0};
inline std::atomic<int> active_operations{0};

/// What is counted in each start of a persistent operation.
struct Starts {
  std::shared_ptr<Row> row;
  std::int64_t bytes = 0;  ///< that this rank sends
  std::int64_t messages = 0;
};

/// A handle for a nonblocking operation, which is active, or, with `starts`, a persistent one. LNW_REQUEST_NULL: one in
/// which there is nothing to do. Returns an MPI error code.
int give_handle(LNW_Request operation, std::optional<Starts> starts, MPI_Request* handle);

/// The operation of `handle`, a persistent one, is also there as `own`, the MPI library's, which takes its place in
/// those starts that are sampled, and is freed with it.
void compare_with(MPI_Request handle, MPI_Request own);

/// Advances all active operations, and completes the handles of those that are complete. Never blocks; does nothing if
/// another thread is at it. Returns how many have been completed.
int advance();

/// What the last operation that failed has returned, since the last call.
[[nodiscard]] int take_failure();

/// Before MPI_Finalize: frees what is left.
void free_all();

}  // namespace laneway::interpose
