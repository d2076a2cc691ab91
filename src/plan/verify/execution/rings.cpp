#include "plan/verify/execution/rings.hpp"

namespace laneway::verification {

namespace {

Places places_in(const Plan& plan, const Step& step, bool of_peer, const Ring& ring) {
  const Rank home = of_peer ? step.peer : plan.rank;
  const Rank other = of_peer ? plan.rank : step.peer;
  return {home, ring.crosses ? other : home, ring.distance, ring.places - 1};
}

Located located(const Plan& plan, const Step& step, const Operand& operand) {
  if (!operand.of_peer && operand.buffer != Buffer::window) return message_place(plan, operand.buffer);
  return {operand.buffer, places_in(plan, step, operand.of_peer, operand.ring)};
}

}  // namespace

Places places_of(const Plan& plan, const Step& step, const Word& word) {
  return places_in(plan, step, word.of_peer, word.ring);
}

Located source(const Plan& plan, const Step& step) {
  return located(plan, step, step.from);
}

Located target(const Plan& plan, const Step& step) {
  return located(plan, step, step.to);
}

Located message_place(const Plan& plan, Buffer buffer) {
  const bool alternates = buffer == Buffer::staging && plan.staging_alternate != 0;
  return {buffer, {plan.rank, plan.rank, alternates ? plan.staging_alternate : 0, alternates ? 1 : 0}};
}

}  // namespace laneway::verification
