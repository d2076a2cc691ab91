#include "operations/collective/start.hpp"

#include <utility>

#include "operations/request/nonblocking.hpp"

namespace laneway {

std::unique_ptr<Request> start_by_rule(Communicator& communicator, const DenseKnowledge& known, const DenseRule& rule,
                                       const CheckedCollective& checked, Reasons reasons) {
  ReadyPlan ready =
      ready_plan(checked, packed(make_dense_plan(rule, checked.blocks(), known.layout, settings_of(known.hints))));
  return start_request(communicator, start_order(communicator), std::make_shared<BoundPlan>(std::move(ready)),
                       buffers_of(checked.call), find_helper(known.hints.progress), std::move(reasons));
}

}  // namespace laneway
