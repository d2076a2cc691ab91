#pragma once

#include "choose/planning.hpp"

namespace laneway {

/// Finds out which memory paths there are for the operation, from its hint and what the ranks can do, and resolves
/// `agreed.path` where only one is left. `support`: this rank's, as asked for by `asks_for_support`.
/// `no_devices`, `all_support`, `all_lend`: of all ranks.
struct PathVotes {
  DeviceSupport support;
  bool no_devices = true;
  bool all_support = false;
  bool all_lend = false;
};
void resolve_path(Agreed& agreed, const PathVotes& votes);

/// Whether the hint makes it necessary to know what the MPI library can do with buffers on devices.
[[nodiscard]] bool asks_for_support(MemoryPath hint);

/// Sets what this rank can lend and borrow, if the hint makes that necessary to know. Returns whether all that it sends
/// and receives can be copied between its device and a peer's. Local.
[[nodiscard]] bool find_lending(Agreed& agreed, const Buffers& buffers);

/// For operations whose buffers may be others in each exchange: MemoryPath::borrowed is MemoryPath::staged.
void lend_nothing(Agreed& agreed);

/// By the parameters. Collective.
[[nodiscard]] CopyRule find_copy_rule(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed);

/// Once the path has been chosen.
[[nodiscard]] DeviceUse device_use(const Agreed& agreed);

/// As make_tuned_plan, on the memory path that `agreed` names or, where that is still open, on the one of the least
/// predicted cost, which it names then. On MemoryPath::borrowed, messages inside the node are lent only where the
/// parameters do not predict that this is slower. Collective.
[[nodiscard]] Planned make_plan_on_best_path(Communicator& communicator, const PrivateComm& comm, Agreed& agreed);

}  // namespace laneway
