#pragma once

#include <span>

#include "machine/parameters.hpp"
#include "plan/memory_path.hpp"
#include "plan/plan.hpp"
#include "plan/through_host.hpp"

namespace laneway {

/// What the cost of a memory path depends on besides the plan.
struct PathConditions {
  OnDevice buffers;               ///< the rank's own
  std::span<const Rank> sharing;  ///< ranks that share memory with this one, ascending
  int processes = 1;              ///< that copy from or to one device at a time
};

/// Whether the parameters say enough of a path to compare it with others.
[[nodiscard]] bool is_known(MemoryPath path, const Parameters& parameters);

/// Seconds of one rank's messages and copies, one after another: the postal model, as the strategies of S. Lockhart,
/// A. Bienz, W. D. Gropp and L. N. Olson, "Characterizing the performance of node-aware strategies", are compared
/// (Equations 4.1 to 4.5; copies are added to the messages that go through the host). `plan`: made as if all buffers
/// were the host's. `path` is staged or device_aware.
[[nodiscard]] double path_seconds(MemoryPath path, const Plan& plan, const PathConditions& conditions,
                                  const Parameters& parameters);

}  // namespace laneway
