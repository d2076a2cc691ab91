#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "communicator/communicator.hpp"
#include "communicator/hints/unknown_variables.hpp"
#include "laneway/laneway.h"
#include "mpi/library.hpp"
#include "mpi/running.hpp"
#include "operations/request/request.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// A handle is the request's address.
inline Request& request_of(LNW_Request handle) {
  return *reinterpret_cast<Request*>(handle);
}
inline LNW_Request handle_of(std::unique_ptr<Request> request) {
  return reinterpret_cast<LNW_Request>(request.release());
}

/// Likewise for topologies. Throws Error(topology) on null.
inline Communicator& topology_of(LNW_Topology handle) {
  require(handle != LNW_TOPOLOGY_NULL, ErrorKind::topology, "topology is LNW_TOPOLOGY_NULL");
  return *reinterpret_cast<Communicator*>(handle);
}
inline LNW_Topology handle_of(std::unique_ptr<Communicator> topology) {
  return reinterpret_cast<LNW_Topology>(topology.release());
}

/// The MPI error code for the exception that is being handled; its text names the rank and the call.
int error_code(const char* call, int rank) noexcept;

int raise_on(MPI_Comm comm, const char* call) noexcept;
int raise_on(LNW_Request request, const char* call) noexcept;
int raise_on(LNW_Topology topology, const char* call) noexcept;
int raise_on(LNW_Channel channel, const char* call) noexcept;

/// An array argument. The first request that is not null after the failure speaks for all.
struct Requests {
  int count;
  const LNW_Request* array;
};
int raise_on(const Requests& requests, const char* call) noexcept;

/// Calls that take a communicator come first in every program.
inline void require_running_for(MPI_Comm comm) {
  require_own_library();
  require_running(comm);
  warn_of_unknown_variables();
}
template <class Where>
void require_running_for(const Where&) {
  require_running();
}

/// Checks that MPI runs, and runs `body`; an exception ends here, as a call of the error handler of `where` (a
/// communicator, a topology, a request or several) and an error code.
template <class Where, class Body>
int guarded_alone(const char* call, Where where, Body&& body) noexcept {
  try {
    require_running_for(where);
    std::forward<Body>(body)();
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on(where, call);
  }
}

/// The same, and advances all active exchanges that need it before.
template <class Where, class Body>
int guarded(const char* call, Where where, Body&& body) noexcept {
  return guarded_alone(call, where, [&] {
    progress_all();
    std::forward<Body>(body)();
  });
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_null(const char* name) {
  throw Error(ErrorKind::argument, std::string(name) + " is NULL");
}

/// Throws Error(argument) if `pointer` is null.
inline void require_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) throw_null(name);
}

/// Writes as much of `values` as the caller, whose structure has `bytes` bytes, knows, and zeros after what it knows
/// alone.
template <class Values>
void fill(void* structure, std::size_t bytes, const Values& values) {
  std::memset(structure, 0, bytes);
  std::memcpy(structure, &values, std::min(bytes, sizeof values));
}

}  // namespace laneway
