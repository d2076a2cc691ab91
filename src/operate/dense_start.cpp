#include "operate/dense_start.hpp"

#include <utility>

#include "operate/dense_plans.hpp"

namespace laneway {

std::unique_ptr<Request> start_by_rule(Communicator& communicator, const DenseKnowledge& known, const DenseRule& rule,
                                       const CollectiveCall& call, const Looked& looked, Rank rank, Reasons reasons) {
  DenseParts parts;
  parts.plan = packed(
      make_dense_plan(rule, looked.blocks(call, rank, known.layout.ranks()), known.layout, settings_of(known.hints)));
  parts.combiners = looked.combiners(*parts.plan);
  parts.reasons = std::move(reasons);
  parts.buffers = buffers_of(call);
  parts.node = known.node;
  parts.progress = known.hints.progress;
  return Request::of_dense(communicator, start_order(communicator), std::move(parts));
}

}  // namespace laneway
