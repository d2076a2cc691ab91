#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "communicator/control/agreement.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/choose/planning.hpp"

namespace laneway {

/// What a rank says about memory paths; of all ranks, what all of them say.
struct PathSupport {
  bool no_devices = false;      ///< no buffer is on a device, nor expected to be
  bool takes = false;           ///< the MPI library takes addresses on its devices
  bool lends = false;           ///< all that it sends and receives can be copied between its device and a peer's
  bool knows_way_back = false;  ///< of a reduction: see find_way_back
  std::string why = {};         ///< for people, of this rank's `takes`

  PathSupport() = default;
  explicit PathSupport(const Flags& flags)
      : no_devices(flags[0]), takes(flags[1]), lends(flags[2]), knows_way_back(flags[3]) {}
  [[nodiscard]] Flags flags() const { return {no_devices, takes, lends, knows_way_back}; }
};

/// Finds out what this rank can do, as far as the hint makes it necessary to know, and sets what it can lend and
/// borrow. Local.
[[nodiscard]] PathSupport find_path_support(Agreed& agreed, const Call& call);

/// Sets the paths that there are.
void set_paths(Agreed& agreed, const PathSupport& mine, const PathSupport& all);

/// For operations whose buffers may be others in each exchange: MemoryPath::borrowed is MemoryPath::staged.
[[nodiscard]] Paths without_lending(Paths paths);

/// Null if no buffer of this rank is on a device.
[[nodiscard]] const MemoryInfo* device_memory(const BufferMemory& where);

/// By the parameters. Collective.
[[nodiscard]] CopyRule find_copy_rule(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed);

/// Those of `paths` whose costs the parameters tell.
[[nodiscard]] std::vector<MemoryPath> with_known_costs(const std::vector<MemoryPath>& paths,
                                                       const Parameters& parameters);
/// Predicted seconds of this rank's part of the plan on a path.
[[nodiscard]] double seconds_on(MemoryPath path, const Plan& plan, const Agreed& agreed, const Parameters& parameters);

/// The size up to which messages inside the node are not lent, if the parameters predict it.
[[nodiscard]] std::optional<std::int64_t> largest_unlent(const Agreed& agreed, const Parameters& parameters);

}  // namespace laneway
