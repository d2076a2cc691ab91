#pragma once

#include <memory>

#include "communicator/communicator.hpp"
#include "operations/collective/knowledge.hpp"

namespace laneway {

/// Runs a blocking all-to-all with unequal blocks whose sizes only their two ends know by BundledAlltoall, where it is
/// decided so, from the second call on: a program that makes one alone is not to pay for memory of the node. False on
/// all ranks, and nothing has been done: the call has to run in another way. Collective, with arguments that have been
/// found good.
[[nodiscard]] bool run_bundled(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                               const CollectiveCall& call);

/// Whether later calls may do so though this one does not.
[[nodiscard]] bool may_yet_be_bundled(Communicator& communicator, const CollectiveCall& call);

/// As run_bundled of calls that nothing else concerns, once there is one: no hint and no device has a say in them.
/// Throws Error that names the bad argument.
[[nodiscard]] bool run_bundled_again(Communicator& communicator, const CollectiveCall& call);

}  // namespace laneway
