#pragma once

#include <cstdint>

namespace laneway {

/// What a queue keeps at a request that is enqueued in it.
struct InQueue {
  // By who enqueues:
  const void* queue = nullptr;                ///< that has it
  std::uint64_t started = 0;                  ///< exchanges so far, of all queues
  bool is_open = false;                       ///< started and not waited for
  bool is_recorded = false;                   ///< in a graph that may be launched as long as the queue lives
  std::uint64_t* started_in_graph = nullptr;  ///< and not waited for: counts complete exchanges of this start
  // By who advances the queue:
  std::uint64_t completed = 0;  ///< of `started`
};

}  // namespace laneway
