#pragma once

#include <mpi.h>

#include "communicator/communicator.hpp"

namespace laneway::interpose {

/// What is known of a graph communicator whose creation was taken over; null of others.
[[nodiscard]] Communicator* find_adopted(MPI_Comm comm) noexcept;

}  // namespace laneway::interpose
