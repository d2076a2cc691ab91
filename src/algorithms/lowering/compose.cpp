#include "algorithms/lowering/compose.hpp"

namespace laneway {

Plan compose(const Plan& first, const Plan& then, const Redirect& redirect) {
  PlanWriter writer(first.rank);
  writer.append(first);
  writer.append(then, redirect);
  return writer.take();
}

}  // namespace laneway
