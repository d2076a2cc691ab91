#pragma once

#include <cstdlib>

#ifdef LANEWAY_SIMULATED
extern "C" void sg_actor_sleep_for(double seconds);
#endif

namespace laneway {

/// Whether this is the library for programs that SimGrid's SMPI runs (LANEWAY_SIMULATED, docs/simulate.md). There all
/// ranks live in one process and take turns, and time is virtual: it passes in MPI calls, and nothing else takes any.
/// This constant alone chooses what replaces the rest:
///
///  | elsewhere                                  | simulated                                                    |
///  | ------------------------------------------ | ------------------------------------------------------------ |
///  | a rank that waits polls                    | it blocks in MPI, or lets a microsecond pass between polls   |
///  | ranks of a node share memory               | messages carry everything, over the platform's on-node links |
///  | a thread makes progress                    | never: MPI is taken to be single-threaded                    |
///  | MPI's graph topologies, and its attributes | a communicator of the same ranks that remembers its topology |
///  | sends are persistent                       | they are nonblocking: SMPI charges only these to the sender  |
///  | errors have codes of their own with a text | they have MPI's codes, and the text goes to standard error      |
///  | copies, packing and sharing cores take time | the time that the machine file gives for them passes         |
#ifdef LANEWAY_SIMULATED
inline constexpr bool simulated = true;

/// Lets virtual time pass for the calling rank.
inline void pass(double seconds) {
  if (seconds > 0) sg_actor_sleep_for(seconds);
}
#else
inline constexpr bool simulated = false;

inline void pass(double) {}
#endif

/// Seconds that the launcher takes from the machine file: LANEWAY_COPY_COST and LANEWAY_PACK_COST, for a byte of large
/// and of small pieces; LANEWAY_TURN_COST, until a rank that has waited gets its core back from the others.
inline double simulated_cost(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atof(text) : 0;
}

}  // namespace laneway
