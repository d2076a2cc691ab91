#pragma once

#include <cstddef>

#include "communicator/communicator.hpp"
#include "machine/machine.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// What the ranks of this host share, as Parameters have it: cores 0 where each rank has one.
struct HostShare {
  int cores = 0;
  int nodes = 1;
};
/// `members`: of this rank's node. Local.
[[nodiscard]] HostShare share_of_host(std::size_t members);

/// `assumed`, with latencies and rates of messages scaled to what a few of them take inside the node of rank 0 and
/// between it and one other: tenths of a second instead of the minutes of `laneway calibrate`, and that much coarser.
/// The same on all ranks. Collective; no rank may wait for another before it enters.
[[nodiscard]] Parameters calibrate_quickly(const PrivateComm& comm, const Region& node, Parameters assumed);

}  // namespace laneway
