#pragma once

#include <memory>

#include "operations/collective/knowledge.hpp"
#include "operations/collective/looked.hpp"
#include "operations/request/nonblocking.hpp"
#include "operations/request/persistent_exchange.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// A persistent operation, or a nonblocking one, by a plan; its buffers may be on devices. Local.
[[nodiscard]] std::unique_ptr<Request> make_by_plan(Communicator& communicator, ExchangeParts parts, Buffers buffers,
                                                    Reasons reasons);
[[nodiscard]] std::unique_ptr<Request> start_by_plan(Communicator& communicator, NonblockingParts parts,
                                                     Reasons reasons);

/// Bindings of a plan of blocking calls.
inline constexpr std::size_t bindings_of_blocking = 4;
/// Runs one once. What is on a device goes through HostImages, which each call makes.
void run_by_plan(BoundPlan& bound, Buffers buffers, const PrivateComm& comm);

/// Starts a nonblocking operation by a rule, with messages alone. The plan is made anew. Local.
[[nodiscard]] std::unique_ptr<Request> start_by_rule(Communicator& communicator, const DenseKnowledge& known,
                                                     const DenseRule& rule, const CollectiveCall& call,
                                                     const Looked& looked, Rank rank, Reasons reasons);

}  // namespace laneway
