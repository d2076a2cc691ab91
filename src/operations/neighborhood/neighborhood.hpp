#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "algorithms/lowering/events.hpp"
#include "communicator/arguments/call.hpp"
#include "communicator/communicator.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/choose/chooser.hpp"
#include "operations/request/edge_partitions.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// Of this rank alone, which its peers need not know.
struct CallEvents {
  std::vector<PlanEvent> events = {};
  std::unique_ptr<const EdgePartitions> partitions = {};  ///< for which they stand; or null
};

/// A persistent operation. Collective: agrees on the hints, plans, binds (if there are buffers; otherwise set_buffers
/// must follow). If the arguments of any rank are bad, all ranks throw.
[[nodiscard]] std::unique_ptr<Request> make_neighborhood(Communicator& communicator, MPI_Info info, const Call& call,
                                                         CallEvents events = {});
/// A nonblocking one. Local, but for the first call of an operation under lnw_fixed_counts.
[[nodiscard]] std::unique_ptr<Request> start_neighborhood(Communicator& communicator, const Call& call);

/// For lnw_check=decisions.
[[nodiscard]] std::string text_of_decision(Kind kind, const Agreed& agreed, const Chosen& chosen);

/// Runs the operation once.
void run_blocking(Communicator& communicator, const Call& call);
/// That of the plan which run_blocking has for such a call; empty if there is none. Local.
[[nodiscard]] std::string strategy_of_blocking(Communicator& communicator, const Call& call);
/// The same as direct messages, of a call that all ranks make together: where the arguments of one are bad, or the two
/// sides of an edge differ in size, all throw.
void run_agreed(Communicator& communicator, const Call& call);

}  // namespace laneway
