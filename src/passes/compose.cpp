#include "passes/compose.hpp"

namespace laneway {

Plan compose(const Plan& first, const Plan& then, const Redirect& redirect) {
  Schedule schedule(first.rank);
  schedule.append(first);
  schedule.append(then, redirect);
  return schedule.take();
}

}  // namespace laneway
