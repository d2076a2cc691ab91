#pragma once

#include <cstdint>
#include <memory>

#include "machine/machine.hpp"
#include "mpi/communicator.hpp"
#include "plan/plan.hpp"
#include "transport/node_memory.hpp"

namespace laneway {

/// The ranks of `node` share memory for the plans that they have. Null on all of them where one cannot, because the
/// system refuses or its processes are separated from the others'; said once a process if LANEWAY_VERBOSE is set.
/// Collective over `node`, which must be in the same MPI_COMM_TYPE_SHARED.
[[nodiscard]] std::shared_ptr<NodeMemory> share_memory(const PrivateComm& comm, const Region& node, const Plan& plan);

}  // namespace laneway
