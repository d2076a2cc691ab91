#pragma once

#include <optional>

#include "algorithms/collective/call.hpp"
#include "communicator/arguments/collective.hpp"
#include "communicator/datatypes/operators.hpp"

namespace laneway {

/// The operation, whatever its arguments say of blocks.
[[nodiscard]] Dense family_of(DenseKind kind);

/// What a call that has been found good moves, on an intracommunicator. `bytes`: as check_collective returns. `how`: of
/// one that reduces. Blocks are those of the arguments, offsets from the buffers; of alltoall, gather and scatter the
/// sizes of others' blocks are told where all are equal.
[[nodiscard]] DenseCall blocks_of(const CollectiveCall& call, std::int64_t bytes, Rank rank, Rank ranks,
                                  const Combination& how);

/// Whether blocks are as large on all ranks, and all know it.
[[nodiscard]] bool has_equal_blocks(DenseKind kind);
/// Whether each rank knows the sizes of all blocks.
[[nodiscard]] bool knows_all_sizes(DenseKind kind);

/// Of one that reduces, from its arguments; else nothing.
[[nodiscard]] std::optional<DenseReduction> reduction_of(const CollectiveCall& call, bool by_rank);

/// Throws Error that names the bad argument, of one that reduces or not.
void check_dense(const CollectiveCall& call, Rank rank, Rank ranks);

}  // namespace laneway
