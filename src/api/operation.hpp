#pragma once

#include "api/barrier.hpp"
#include "communicator/arguments/call.hpp"

namespace laneway {

/// @name The C functions, in each way to run an operation
/// `name` is the function's. `Where` is MPI_Comm or LNW_Topology.
/// @{
template <class Where>
int blocking(const char* name, Where where, const Call& call) noexcept;
template <class Where>
int nonblocking(const char* name, Where where, LNW_Request* request, const Call& call) noexcept;
template <class Where>
int persistent(const char* name, Where where, MPI_Info info, LNW_Request* request, const Call& call) noexcept;
/// @}

}  // namespace laneway
