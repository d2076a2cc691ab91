#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/process/attachments.hpp"
#include "machine/machine.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/bootstrap.hpp"
#include "runtime/carriers/node/node_memory.hpp"

namespace laneway {

/// Of a communicator, under the hint lnw_shared_staging: by its bytes and the ranks that share memory.
struct Arenas final : Attachment {
  /// Some ranks may not know of one that others have.
  void on(Change change) override {
    if (change == Change::unsure) by_sharers.clear();
  }
  std::map<std::pair<std::int64_t, std::vector<Rank>>, std::shared_ptr<StagingArena>> by_sharers;
};

/// The ranks of `node` share memory: a window each, and staging memory if `with_staging`; parts without bytes are null.
/// `memory` becomes null on all of them where one cannot, because the system refuses or its processes are separated
/// from the others'; said once a process if LANEWAY_VERBOSE is set. Collective over `node`, which must be in the same
/// MPI_COMM_TYPE_SHARED.
void share_with_node(Bootstrap& bootstrap, const Plan& plan, const Region& node, bool with_staging,
                     std::shared_ptr<PlanMemory>& memory);

/// The ranks of `node` share a window of so many bytes each, zero at first; null on all of them where one cannot, as
/// above. Collective over `node`.
[[nodiscard]] std::shared_ptr<NodeMemory> share_windows(Bootstrap& bootstrap, const Region& node, std::int64_t bytes);

/// What the plan shares its staging memory with, if it takes at most `limit` bytes, which the ranks of `node` share,
/// or which is this rank's alone where they can share none. Null if the plan has memory of its own, or needs none.
/// Collective over `node`.
[[nodiscard]] std::shared_ptr<StagingArena> find_arena(Bootstrap& bootstrap, const Region& node, Arenas& arenas,
                                                       std::int64_t limit, const Plan& plan);

}  // namespace laneway
