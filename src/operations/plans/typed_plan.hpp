#pragma once

#include <memory>
#include <optional>

#include "communicator/arguments/operations.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/elements.hpp"
#include "runtime/device/buffers.hpp"

namespace laneway {

/// A plan in which each edge is one message, for calls that run once: what does not lie together is gathered and
/// scattered by MPI, so that nothing here takes time or memory in proportion to its blocks. For TypedP2PTransport.
/// Ranks that run plan_direct are partners like any others: messages have the same channels, order and sizes.
struct TypedPlan {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<MessageElements> elements;  ///< null where all edges lie together: bytes are all there is to know
};

/// Nothing where bytes must be known: buffers on devices, receive places that may overlap, edges of this rank to itself
/// whose sizes differ.
[[nodiscard]] std::optional<TypedPlan> plan_typed(Rank rank, const TypedPattern& pattern, const Buffers& buffers);

}  // namespace laneway
