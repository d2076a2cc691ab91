#include "algorithms/collective/rules/rules.hpp"

namespace laneway::dense::tiny {

namespace {

/// The root sends to each rank.
void write(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  broadcast(writer, flat(everyone(layout, call.rank), call.root), output(call, 0), 0);
}

DenseCost cost(const Shape& s) {
  const double near = s.home - 1, far = s.ranks - s.home;
  DenseCost cost = one_way(
      add(inside(s, near > 0 ? 1 : 0, near, near * s.bytes), across(s, far > 0 ? 1 : 0, far, far * s.bytes, 1)));
  cost.all = {{near, near * s.bytes, near}, {far, far * s.bytes, far}};
  return cost;
}

}  // namespace

std::vector<DenseRule> rules() {
  return {{Dense::bcast, "tiny", "the root sends to each rank", "a test", DenseTraits{}, write, cost}};
}

}  // namespace laneway::dense::tiny
