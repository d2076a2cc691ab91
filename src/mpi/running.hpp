#pragma once

#include <mpi.h>

#include <atomic>

namespace laneway {

/// Whether MPI_COMM_WORLD and MPI_COMM_SELF are there: not in programs that only open sessions.
[[nodiscard]] bool has_world();

namespace running_detail {
enum class State : int { unknown, running, ending };
inline std::atomic<State> state{State::unknown};
void check(MPI_Comm comm);
}  // namespace running_detail

/// Throws Error(unsupported) where MPI is not initialized yet or finalized already. `comm`: what the call was given.
inline void require_running(MPI_Comm comm) {
  if (running_detail::state.load(std::memory_order_relaxed) != running_detail::State::running) [[unlikely]]
    running_detail::check(comm);
}
/// The same for a call that was given what exists only after a call with a communicator.
inline void require_running() {
  if (running_detail::state.load(std::memory_order_relaxed) == running_detail::State::ending) [[unlikely]]
    running_detail::check(MPI_COMM_NULL);
}

/// Whether functions of MPI can be called, as far as can be known. `comm` as above.
[[nodiscard]] bool is_running(MPI_Comm comm);

/// Found out with a communicator, or when MPI_Finalize has begun: from then on it is asked for the end.
inline void set_running() {
  running_detail::State unknown = running_detail::State::unknown;
  running_detail::state.compare_exchange_strong(unknown, running_detail::State::running, std::memory_order_relaxed);
}
inline void set_ending() {
  running_detail::state.store(running_detail::State::ending, std::memory_order_relaxed);
}

/// Whether MPI_Finalize has returned, or does nothing for others any more. Costs nothing before MPI_Finalize.
[[nodiscard]] bool is_too_late();

}  // namespace laneway
