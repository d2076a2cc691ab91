#pragma once

#include <cstdint>
#include <memory>

#include "carriers/node/node_memory.hpp"
#include "comm/communicator.hpp"
#include "machine/machine.hpp"

namespace laneway {

/// The ranks of `node` share memory, of which each says how much it has for others to see; parts without bytes are
/// null. Null on all of them where one cannot, because the system refuses or its processes are separated from the
/// others'; said once a process if LANEWAY_VERBOSE is set. Collective over `node`, which must be in the same
/// MPI_COMM_TYPE_SHARED.
[[nodiscard]] std::shared_ptr<NodeMemory> share_memory(const PrivateComm& comm, const Region& node,
                                                       std::int64_t window_bytes, std::int64_t staging_bytes);

/// `bytes` bytes for each rank of `node` that plans share one after another; private memory where the ranks can share
/// none. Collective as above.
[[nodiscard]] std::shared_ptr<StagingArena> make_arena(const PrivateComm& comm, const Region& node, std::int64_t bytes);

/// Of a communicator, under the hint lnw_shared_staging: by its bytes and the ranks that share memory.
struct Arenas final : Attachment {
  /// Some ranks may not know of one that others have.
  void on(Change change) override {
    if (change == Change::unsure) by_sharers.clear();
  }
  std::map<std::pair<std::int64_t, std::vector<Rank>>, std::shared_ptr<StagingArena>> by_sharers;
};

/// The largest value that a rank of `node` gives. Collective over it.
[[nodiscard]] std::int64_t largest(const PrivateComm& comm, const Region& node, std::int64_t value);

}  // namespace laneway
