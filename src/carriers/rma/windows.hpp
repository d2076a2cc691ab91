#pragma once

#include <memory>

#include "carriers/node/node_memory.hpp"
#include "carriers/talk.hpp"
#include "machine/machine.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// Gives `memory` a window of the plan's size, which all ranks of the communicator can put into, and places for what
/// this rank puts. Only where `uses_puts`; else nothing is done. `memory` becomes null on all ranks where one cannot
/// have a window, or comes with null. Collective over the communicator.
///
/// A window takes all ranks to be freed, and requests end when each of them likes. So windows are kept, for later plans
/// of the communicator that fit into them, until MPI_Finalize.
void share_windows_with_all(Talk& talk, const Plan& plan, bool uses_puts, std::shared_ptr<NodeMemory>& memory);

/// Frees all windows, in the order in which they were made, which all their ranks have in common. At the beginning of
/// MPI_Finalize; after that nothing can be put.
void free_windows() noexcept;

}  // namespace laneway
