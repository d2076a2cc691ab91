#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/lowering/events.hpp"
#include "algorithms/lowering/transpose.hpp"
#include "communicator/arguments/call.hpp"
#include "communicator/arguments/operations.hpp"
#include "communicator/communicator.hpp"
#include "communicator/datatypes/operators.hpp"
#include "communicator/hints/hints.hpp"
#include "plan/memory_path.hpp"
#include "plan/pattern.hpp"
#include "runtime/device/buffers.hpp"

namespace laneway {

[[nodiscard]] inline Buffers buffers_of(const Call& call) {
  return {call.sendbuf, call.recvbuf};
}

class Planning;
struct WayBack;

/// The memory paths that there are for an operation.
struct Paths {
  std::vector<MemoryPath> open = {};  ///< one or, with `staged` first, those to choose from
  std::string reason;                 ///< for people: why these
  std::uint64_t lends = 0;            ///< see LocalOptions
  std::uint64_t borrows = 0;          ///< see LocalOptions
};

/// An operation that reduces, and the exchange whose way back it is.
struct AgreedReduction {
  Reduction what;
  TurnedRound turned;
  bool by_rank = false;  ///< then nothing is turned round: an exchange brings every contribution, see arrivals_of
  std::shared_ptr<const WayBack> back = {};  ///< null: an exchange has to be planned first
};

/// An operation on which all ranks have agreed.
struct Agreed {
  RankPattern pattern;  ///< what is planned: of an operation that reduces, the exchange, unit_bytes each
  std::optional<AgreedReduction> reduction = {};
  Hints hints;
  std::uint64_t fingerprint = 0;  ///< of the hints as they were asked for
  std::vector<Region> regions;    ///< this rank's, outermost first
  Region sharing;                 ///< the ranks that use the same memory as this one
  int tag = 0;
  BufferMemory where;  ///< this rank's buffers, as far as they are known
  Paths paths;
  CopyRule rule;                    ///< of this rank's copies from and to devices
  bool relays_nothing = false;      ///< for want of helpers, although the hints would
  std::vector<PlanEvent> events;    ///< of this rank's plan
  std::shared_ptr<Planning> begun;  ///< a plan that the ranks have begun to make as they agreed; null if they did not
};

/// What a byte of the pattern stands for.
[[nodiscard]] inline std::int64_t unit_bytes(const Agreed& agreed) {
  return agreed.reduction && !agreed.reduction->by_rank ? agreed.reduction->what.how.element_bytes : 1;
}

/// The ranks that use the same memory as this one; none where messages carry everything. `translate` as for regions.
[[nodiscard]] Region find_sharing(Communicator& communicator, const Hints& hints, bool translate);

}  // namespace laneway
