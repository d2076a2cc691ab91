#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/collective/rules.hpp"
#include "communicator/arguments/collective.hpp"
#include "communicator/arguments/dense_blocks.hpp"
#include "communicator/datatypes/operators.hpp"
#include "runtime/device/buffers.hpp"
#include "runtime/executor/combine.hpp"

namespace laneway {

/// A call that has been found good, of one rank of a communicator. The call must outlive it.
struct CheckedCollective {
  /// Throws Error that names the bad argument. `by_rank`: operands are combined in the order of ranks.
  CheckedCollective(const CollectiveCall& call, Rank rank, Rank ranks, bool by_rank);

  const CollectiveCall& call;
  Rank rank;
  Rank ranks;
  /// Of a block, as check_collective returns.
  std::int64_t block_bytes;
  std::optional<DenseReduction> reduction;
  /// What all ranks know. `bytes` is 0 where no rank knows the sizes of all blocks, until all know their mean.
  DenseFacts facts;

  /// Why this library cannot combine it; null: it can, or need not.
  [[nodiscard]] const char* uncombinable() const {
    return reduction && reduction->combiner == nullptr ? reduction->why : nullptr;
  }
  /// Where the order of operands matters, the rule of the first call is that of all.
  [[nodiscard]] bool is_of_one_rule() const;
  [[nodiscard]] DenseCall blocks() const {
    return blocks_of(call, block_bytes, rank, ranks, reduction ? reduction->how : Combination{});
  }
  /// Of this rank's blocks, which it receives, or sends as the root of a scatterv.
  [[nodiscard]] std::int64_t bytes_of_blocks() const;
  /// Of a rank that combines.
  [[nodiscard]] Combiners combiners(const Plan& plan) const {
    return plan.combinations.empty() ? Combiners{} : Combiners{reduction->combiner};
  }
};

/// The two buffers that a plan is bound to. A barrier sends a byte, whatever it holds.
[[nodiscard]] Buffers buffers_of(const CollectiveCall& call);
/// Whether the host may touch both.
[[nodiscard]] bool is_on_host(const CollectiveCall& call);

}  // namespace laneway
