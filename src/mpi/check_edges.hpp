#pragma once

#include "mpi/communicator.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

/// Compares both sides of every edge of all ranks, also of edges that only one side has. Collective. Throws
/// Error(topology) on all ranks, naming the first edge that disagrees, its source, destination and both sizes.
void check_edges(const PrivateComm& comm, const RankPattern& pattern);

}  // namespace laneway
