#pragma once

#include "mpi/planning.hpp"

namespace laneway {

/// Finds out which memory paths there are for the operation, from its hint and what the ranks can do, and resolves
/// `agreed.path` where only one is left. `support`: this rank's, as asked for by `asks_for_support`.
/// `no_devices`, `all_support`: of all ranks.
struct PathVotes {
  DeviceSupport support;
  bool no_devices = true;
  bool all_support = false;
};
void resolve_path(Agreed& agreed, const PathVotes& votes);

/// Whether the hint makes it necessary to know what the MPI library can do with buffers on devices.
[[nodiscard]] bool asks_for_support(MemoryPath hint);

/// On MemoryPath::borrowed: messages inside the node are lent only where the parameters do not predict that this is
/// slower. Collective.
void limit_lending(Communicator& communicator, const PrivateComm& comm, Agreed& agreed);

/// As make_tuned_plan, on the memory path that `agreed` names or, where that is still open, on the one of the least
/// predicted cost, which it names then. Collective.
[[nodiscard]] Planned make_plan_on_best_path(Communicator& communicator, const PrivateComm& comm, Agreed& agreed);

}  // namespace laneway
