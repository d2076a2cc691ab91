#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#ifdef LANEWAY_SIMULATED
extern "C" void sg_actor_sleep_for(double seconds);
#endif

namespace laneway {

/// Whether this is the library for programs that SimGrid's SMPI runs (LANEWAY_SIMULATED, docs/reference/simulation.md).
/// There all ranks live in one process and take turns, and time is virtual: it passes in MPI calls, and nothing else
/// takes any. This constant alone chooses what replaces the rest:
///
///  | elsewhere                                  | simulated                                                    |
///  | ------------------------------------------ | ------------------------------------------------------------ |
///  | a rank that waits for messages polls       | it blocks in MPI, or lets a microsecond pass between polls   |
///  | it looks at words in shared memory         | the same, but time passes between looks (SimulatedWait)      |
///  | ranks that MPI says share a node do so     | those of a described node do, where flags have a cost        |
///  | a thread makes progress                    | never: MPI is taken to be single-threaded                    |
///  | MPI's graph topologies, and its attributes | a communicator of the same ranks that remembers its topology |
///  | sends are persistent                       | they are nonblocking: SMPI charges only these to the sender  |
///  | receives are as long as their messages     | shorter ones claim as much as those that travel when sent    |
///  | control messages of setup are looked for, then taken | they are received at once, up to 64 MiB, and sent
///  synchronously | | what is measured for `auto` is remembered  | it is measured each time, with the fewest exchanges
///  | | blocks of data are moved                   | the same, or only the time passes (core/block_memory.hpp)    | |
///  errors have codes of their own with a text | they have MPI's codes, and the text goes to standard error   | |
///  copies, packing and sharing cores take time | the time that the machine file gives for them passes        |
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

/// What the launcher takes from the machine file, in seconds.
struct SimulatedCosts {
  double copy = read("LANEWAY_COPY_COST");                ///< of a byte in large pieces
  double pack = read("LANEWAY_PACK_COST");                ///< of a byte in small pieces
  double shared = read("LANEWAY_SHARED_COST");            ///< of each end of what is handed over in shared memory
  double shared_byte = read("LANEWAY_SHARED_BYTE_COST");  ///< and of each of its bytes that an end copies
  double flag = read("LANEWAY_FLAG_COST");  ///< until a rank sees what another has raised; 0: they share no memory
  double turn = read("LANEWAY_TURN_COST");  ///< until a rank that has waited gets its core back from the others

 private:
  static double read(const char* variable) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::atof(text) : 0;
  }
};

inline const SimulatedCosts& simulated_costs() {
  static const SimulatedCosts costs;
  return costs;
}

/// Shorter messages are under way when they are sent (LANEWAY_SIMULATION_EAGER); 0: all wait for their receive.
inline std::int64_t simulated_eager_bytes() {
  static const std::int64_t bytes = [] {
    const char* const text = std::getenv("LANEWAY_EAGER_BYTES");
    return text != nullptr ? std::atoll(text) : 0;
  }();
  return bytes;
}

/// Waiting for words in shared memory, in virtual time. A rank that looks in vain lets a part of what a flag takes
/// pass, since messages are noticed at looks, too; or a fiftieth of what it has waited for already, so that long waits
/// are few events.
class SimulatedWait {
 public:
  void pause() {
    constexpr double part_of_flag = 1.0 / 16;
    constexpr double part_of_wait = 0.02;
    pause_ = std::max(part_of_flag * simulated_costs().flag, part_of_wait * waited_);
    pass(pause_);
    waited_ += pause_;
  }
  /// A look finds a word half a pause after it has been raised, on average; the rest of what the flag takes follows.
  void end_by_word() { end(simulated_costs().flag - pause_ / 2); }
  void end_by_message() { end(0); }

 private:
  void end(double seconds) {
    if (waited_ > 0) pass(seconds + simulated_costs().turn);
    waited_ = 0;
  }

  double pause_ = 0;
  double waited_ = 0;
};

}  // namespace laneway
