#pragma once

#include <cstdint>
#include <string_view>

#include "communicator/hints/hints.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// What advances started work of this rank, on which other ranks may depend, while it is in no call of this library.
enum class Helper : std::uint8_t {
  none,
  engine,          ///< the MPI library's, in any of its calls that wait
  thread,          ///< the progress thread
  thread_for_all,  ///< the same, also for work on which nobody depends
};

/// "calls", where only those of this library do, "engine" or "thread".
[[nodiscard]] std::string_view name(Helper helper);

/// Of this process, for operations under this hint. Where lnw_progress=thread wants a thread that MPI lets nobody have,
/// rank 0 of MPI_COMM_WORLD says so, once. Local.
[[nodiscard]] Helper find_helper(ProgressHint hint);

/// Whether there is one under ProgressHint::automatic. Local.
[[nodiscard]] bool has_helper();

/// Whether split-phase operations may use strategies that relay, and memory of the node, where a rank waits for others
/// to take what it has put there. `all_have_helpers`: on all ranks of the communicator.
[[nodiscard]] bool may_relay(ProgressHint hint, bool all_have_helpers);

/// The list of work that this helper is for.
[[nodiscard]] Progress progress_by(Helper helper);

/// From now on it helps; no effect if it does already. Called as late as when there is work that needs it.
void employ(Helper helper);

}  // namespace laneway
