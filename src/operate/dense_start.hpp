#pragma once

#include <memory>

#include "operate/dense_knowledge.hpp"
#include "operate/dense_looked.hpp"
#include "operate/request.hpp"

namespace laneway {

/// Starts a nonblocking operation by a rule, with messages alone. The plan is made anew. Local.
[[nodiscard]] std::unique_ptr<Request> start_by_rule(Communicator& communicator, const DenseKnowledge& known,
                                                     const DenseRule& rule, const CollectiveCall& call,
                                                     const Looked& looked, Rank rank, Reasons reasons);

}  // namespace laneway
