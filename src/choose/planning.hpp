#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments/call.hpp"
#include "arguments/hints.hpp"
#include "arguments/operations.hpp"
#include "carriers/node/node_memory.hpp"
#include "choose/device_support.hpp"
#include "choose/reasons.hpp"
#include "comm/communicator.hpp"
#include "exec/device_copies.hpp"
#include "pattern/pattern.hpp"
#include "plan/memory_path.hpp"
#include "plan/plan.hpp"

namespace laneway {

[[nodiscard]] inline Buffers buffers_of(const Call& call) {
  return {call.sendbuf, call.recvbuf};
}

class Planning;

/// An operation on which all ranks have agreed.
struct Agreed {
  RankPattern pattern;
  Hints hints;
  std::vector<Region> regions;  ///< this rank's, outermost first
  Region sharing;               ///< the ranks that use the same memory as this one
  int tag = 0;
  BufferMemory where;  ///< this rank's buffers, as far as they are known
  MemoryPath path = MemoryPath::staged;
  std::string path_reason;
  std::vector<MemoryPath> open_paths;  ///< those that there are, `staged` first, if `path` is automatic
  std::uint64_t lends = 0;             ///< see LocalOptions
  std::uint64_t borrows = 0;           ///< see LocalOptions
  CopyRule rule;                       ///< of this rank's copies from and to devices
  bool relays_nothing = false;         ///< for want of helpers, although the hints would
  std::shared_ptr<Planning> begun;  ///< a plan that the ranks have begun to make as they agreed; null if they did not
};

/// Whether exchanges of an operation may be active while their ranks are in no call of this library.
enum class Phases : std::uint8_t { one, split };

/// Collective: agrees on hints and arguments, buffers among them if they are known. If the arguments of any rank are
/// bad, all ranks throw. `path` is left open if there is a choice.
[[nodiscard]] Agreed agree_on(Communicator& communicator, PrivateComm& comm, MPI_Info info, const Call& call,
                              Phases phases = Phases::split);

struct Planned {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<NodeMemory> memory;  ///< null if the plan uses none
  Reasons reasons;
};

/// What make_plan chooses the strategy of the outermost level from, on the path of `agreed`.
[[nodiscard]] StrategyChoice outermost_choice(Communicator& communicator, const PrivateComm& comm,
                                              const Agreed& agreed);

/// Chooses strategies, that of the outermost level from `outermost`, and makes the plan, in which messages move
/// everything. Collective.
[[nodiscard]] Planned make_plan(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                                const StrategyChoice& outermost);

/// Lets the plan use the memory of the node, if its ranks can share any, and memory that it shares with other plans.
/// Collective.
void localize(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Planned& planned);

}  // namespace laneway
