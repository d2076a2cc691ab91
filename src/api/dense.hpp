#pragma once

#include "api/barrier.hpp"
#include "communicator/arguments/collective.hpp"

namespace laneway {

/// @name The C functions of the dense operations, in each way to run one
/// `name` is the function's.
/// @{
int dense_blocking(const char* name, MPI_Comm comm, const CollectiveCall& call) noexcept;
int dense_nonblocking(const char* name, MPI_Comm comm, LNW_Request* request, const CollectiveCall& call) noexcept;
int dense_persistent(const char* name, MPI_Comm comm, MPI_Info info, LNW_Request* request,
                     const CollectiveCall& call) noexcept;
/// @}

}  // namespace laneway
