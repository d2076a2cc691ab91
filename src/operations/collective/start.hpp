#pragma once

#include <memory>

#include "operations/collective/plans.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// Bindings of a plan of blocking calls.
inline constexpr std::size_t bindings_of_blocking = 4;

/// Starts a nonblocking operation by a rule, with messages alone. The plan is made anew. Local.
[[nodiscard]] std::unique_ptr<Request> start_by_rule(Communicator& communicator, const DenseKnowledge& known,
                                                     const DenseRule& rule, const CheckedCollective& checked,
                                                     Reasons reasons);

}  // namespace laneway
