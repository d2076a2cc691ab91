#pragma once

#include <memory>

#include "communicator/communicator.hpp"
#include "operations/collective/execution/own.hpp"
#include "operations/collective/knowledge.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// Runs a blocking all-to-all with unequal blocks whose sizes only their two ends know by BundledAlltoall, where it is
/// decided so, from the second call on: a program that makes one alone is not to pay for memory of the node. False on
/// all ranks, and nothing has been done: the call has to run in another way. Collective, with arguments that have been
/// found good. `users`: the communicator of the call.
[[nodiscard]] bool run_bundled(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                               MPI_Comm users, const CollectiveCall& call);

/// Whether later calls may do so though this one does not.
[[nodiscard]] bool may_yet_be_bundled(Communicator& communicator, const CollectiveCall& call);

/// As run_bundled of calls that nothing else concerns, once there is one: no hint and no device has a say in them.
/// Throws Error that names the bad argument.
[[nodiscard]] bool run_bundled_again(Communicator& communicator, const CollectiveCall& call);

/// Starts a nonblocking one in the same way where it is decided so, as MPI's own until memory of the node has been
/// shared for such calls: in the first call that blocks after two of them. Calls may overlap, and complete in any
/// order. Null: the call has to run in another way. Local, with arguments that have been found good.
[[nodiscard]] std::unique_ptr<Request> start_bundled(Communicator& communicator,
                                                     const std::shared_ptr<const DenseKnowledge>& known,
                                                     const Place& place, const CollectiveCall& call);

}  // namespace laneway
