#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "algorithms/lowering/through_host.hpp"
#include "machine/parameters.hpp"
#include "plan/kernel_rows.hpp"
#include "plan/memory_path.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// What the cost of a memory path depends on besides the plan.
struct PathConditions {
  OnDevice buffers;               ///< the rank's own
  std::span<const Rank> sharing;  ///< ranks that share memory with this one, ascending
  int processes = 1;              ///< that copy from or to one device at a time
  std::int64_t lend_bytes = 0;    ///< on MemoryPath::borrowed, messages of up to this size are not lent
};

/// What kernels move where `processes` share a device. n rows of b bytes take a copy engine `alpha + (n - 1) gap + n b
/// beta` seconds by `to_host` or `to_device`, and a kernel `alpha + n b beta` by `rows_to_host` or `rows_to_device`, as
/// long as `pack` and the bus are not slower. Where the parameters have no `gap` or no rows: as CopyRule is made.
[[nodiscard]] CopyRule copy_rule(const Parameters& parameters, int processes);

/// Whether the parameters say enough of a path to compare it with others.
[[nodiscard]] bool is_known(MemoryPath path, const Parameters& parameters);

/// Seconds of one rank's messages and copies, one after another: the postal model, as the strategies of S. Lockhart,
/// A. Bienz, W. D. Gropp and L. N. Olson, "Characterizing the performance of node-aware strategies", are compared
/// (Equations 4.1 to 4.5; copies are added to the messages that go through the host). On MemoryPath::borrowed, what
/// ranks of a node have for each other or gather is taken to be in memory that can be lent. `plan`: made as if all
/// buffers were the host's. `path` is not automatic.
[[nodiscard]] double path_seconds(MemoryPath path, const Plan& plan, const PathConditions& conditions,
                                  const Parameters& parameters);

/// What `largest_not_lent` gives where nothing is worth lending.
inline constexpr std::int64_t never_lent = std::numeric_limits<std::int64_t>::max();

/// The largest message inside a node, in bytes, that is not predicted to be faster if the receiver copies it straight
/// from the sender's device (MemoryPath::borrowed) than through the host's memory; all larger ones are. Below
/// `mailbox_bytes`, these included, the way through the host is a mailbox, above a message of the MPI library.
/// `processes`: that share a device. Nothing if the parameters do not tell what both ways cost.
[[nodiscard]] std::optional<std::int64_t> largest_not_lent(const Parameters& parameters, int processes,
                                                           std::int64_t mailbox_bytes);
/// For people: which messages inside a node are copied from the peer's device.
[[nodiscard]] std::string described_lending(std::int64_t largest_not_lent);

}  // namespace laneway
