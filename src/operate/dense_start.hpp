#pragma once

#include <memory>

#include "operate/dense_knowledge.hpp"
#include "operate/dense_looked.hpp"
#include "operate/nonblocking.hpp"
#include "operate/persistent_exchange.hpp"
#include "operate/request.hpp"

namespace laneway {

/// A persistent operation, or a nonblocking one, by a plan; its buffers may be on devices. Local.
[[nodiscard]] std::unique_ptr<Request> make_by_plan(Communicator& communicator, ExchangeParts parts, Buffers buffers,
                                                    Reasons reasons);
[[nodiscard]] std::unique_ptr<Request> start_by_plan(Communicator& communicator, NonblockingParts parts,
                                                     Reasons reasons);

/// Starts a nonblocking operation by a rule, with messages alone. The plan is made anew. Local.
[[nodiscard]] std::unique_ptr<Request> start_by_rule(Communicator& communicator, const DenseKnowledge& known,
                                                     const DenseRule& rule, const CollectiveCall& call,
                                                     const Looked& looked, Rank rank, Reasons reasons);

}  // namespace laneway
