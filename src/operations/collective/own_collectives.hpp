#pragma once

#include "communicator/private_comm.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// What blocking collectives of the MPI library itself take on these ranks, a few sizes of each: the median of the rank
/// on which that is most. The same on all ranks. Collective.
[[nodiscard]] OwnCollectives time_own_collectives(const PrivateComm& comm, Rank nodes);

}  // namespace laneway
