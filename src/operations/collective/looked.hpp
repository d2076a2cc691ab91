#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "communicator/arguments/collective.hpp"
#include "communicator/arguments/dense_blocks.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "communicator/datatypes/operators.hpp"
#include "operations/collective/plans.hpp"
#include "runtime/device/buffers.hpp"

namespace laneway {

/// A dense call that has been looked at.
struct Looked {
  CheckedCollective checked;
  std::optional<DenseReduction> reduction;

  [[nodiscard]] DenseAsk ask(const CollectiveCall& call, Rank ranks, Phases phases, std::int64_t mean_bytes) const {
    DenseAsk ask;
    ask.kind = call.kind;
    ask.facts = facts_of(call, checked, ranks, reduction, mean_bytes);
    ask.phases = phases;
    if (reduction && reduction->combiner == nullptr) ask.uncombinable = reduction->why;
    return ask;
  }
  /// Of a blocking call. Where the order of operands matters, the rule of the first call is that of all.
  [[nodiscard]] DenseAsk ask_once(const CollectiveCall& call, Rank ranks) const {
    DenseAsk ask = this->ask(call, ranks, Phases::one, 0);
    ask.in_memory = is_of_one_rule(call);
    return ask;
  }
  [[nodiscard]] bool is_of_one_rule(const CollectiveCall& call) const {
    return reduction && reduction->combiner != nullptr && is_predefined_operator(call.op) &&
           is_predefined(call.receive.type) && depends_on_order(call.op, call.receive.type);
  }
  [[nodiscard]] DenseCall blocks(const CollectiveCall& call, Rank rank, Rank ranks) const {
    return blocks_of(call, checked, rank, ranks, reduction ? reduction->how : Combination{});
  }
  /// Of a rank that combines.
  [[nodiscard]] Combiners combiners(const Plan& plan) const {
    return plan.combinations.empty() ? Combiners{} : Combiners{reduction->combiner};
  }
};

/// Throws Error that names the bad argument. `by_rank`: operands are combined in the order of ranks.
[[nodiscard]] inline Looked look_at(const CollectiveCall& call, Rank rank, Rank ranks, bool by_rank) {
  Looked looked;
  looked.checked = check_collective(call, rank, ranks);
  looked.reduction = reduction_of(call, by_rank);
  return looked;
}

/// The two buffers that a plan is bound to. A barrier sends a byte, whatever it holds.
[[nodiscard]] inline Buffers buffers_of(const CollectiveCall& call) {
  static const std::byte byte{};
  if (call.kind == DenseKind::barrier) return {&byte, nullptr};
  const void* const sent = call.sendbuf == MPI_IN_PLACE ? call.recvbuf : call.sendbuf;
  void* const received = call.recvbuf == MPI_IN_PLACE ? const_cast<void*>(call.sendbuf) : call.recvbuf;
  return {sent, received};
}

}  // namespace laneway
