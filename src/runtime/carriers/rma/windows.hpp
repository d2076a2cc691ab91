#pragma once

#include <memory>
#include <string>

#include "machine/machine.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/bootstrap.hpp"
#include "runtime/carriers/memory.hpp"

namespace laneway {

/// Why plans of the communicator get no window, for people; empty if one may get one. It is empty on all ranks or on
/// none. Local.
[[nodiscard]] std::string why_no_window(const Bootstrap& bootstrap);

/// Gives `memory` a window of the plan's size, which all ranks of the communicator can put into, and places for what
/// this rank puts. `memory` becomes null on all ranks where one gets no window, or comes with null; the result then
/// says why, for people. Collective over the communicator.
///
/// A window takes all ranks to be freed, and requests end when each of them likes. So windows are kept, for later plans
/// of the communicator that fit into them, until MPI_Finalize.
[[nodiscard]] std::string share_window_with_all(Bootstrap& bootstrap, const Plan& plan,
                                                std::shared_ptr<PlanMemory>& memory);

/// Frees all windows, in an order that all their ranks have in common. At the beginning of MPI_Finalize; after that
/// nothing can be put.
void free_windows() noexcept;

}  // namespace laneway
