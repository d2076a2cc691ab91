#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <string>

#include "communicator/arguments/call.hpp"
#include "communicator/communicator.hpp"
#include "operations/neighborhood/family.hpp"
#include "operations/pipeline/fixed_operation.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// A persistent operation. Collective: agrees on the hints, plans, binds (if there are buffers; otherwise set_buffers
/// must follow). If the arguments of any rank are bad, all ranks throw.
[[nodiscard]] std::unique_ptr<Request> make_neighborhood(Communicator& communicator, MPI_Info info, const Call& call,
                                                         CallEvents events = {});
/// Of partitions: `sent[i]` of the i-th destination's block, `received[i]` of the i-th source's, which are as many as
/// the topology has slots.
[[nodiscard]] CallEvents events_of(const Topology& topology, const Call& call, std::span<const int> sent,
                                   std::span<const int> received);
/// A nonblocking one. Local, but for the first call of an operation under lnw_fixed_counts.
[[nodiscard]] std::unique_ptr<Request> start_neighborhood(Communicator& communicator, const Call& call);

/// What preloaded libraries name an operation under the promise by, before its first call.
[[nodiscard]] FixedKey fixed_key(const Call& call, Phases phases = Phases::one);
/// The operation of such calls under lnw_fixed_counts, whose edges may differ in size. Collective in the first call
/// with datatypes of such sizes. If the arguments of any rank are bad, all ranks throw. Blocking and nonblocking calls
/// have the same if both may relay.
[[nodiscard]] const FixedOperation& fixed_operation(Communicator& communicator, const FixedKey& key, const Call& call,
                                                    Use use = Use::calls);

/// Runs the operation once.
void run_blocking(Communicator& communicator, const Call& call);
/// That of the plan which run_blocking has for such a call; empty if there is none. Local.
[[nodiscard]] std::string strategy_of_blocking(Communicator& communicator, const Call& call);
/// The same as direct messages, of a call that all ranks make together: where the arguments of one are bad, or the two
/// sides of an edge differ in size, all throw.
void run_agreed(Communicator& communicator, const Call& call);

}  // namespace laneway
