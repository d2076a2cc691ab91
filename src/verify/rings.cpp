#include "verify/rings.hpp"

namespace laneway::verification {

namespace {

Ring fixed(Rank rank) {
  return {rank, rank, 0, 0};
}

Operand own(const Plan& plan, Buffer buffer) {
  if (buffer != Buffer::staging || plan.staging_alternate == 0) return {buffer, fixed(plan.rank)};
  return {buffer, {plan.rank, plan.rank, plan.staging_alternate, 1}};
}

/// The side of a put or take that is in memory that the ranks of a node share.
Operand reached(Rank rank, const Step& step, Buffer buffer) {
  if (buffer == Buffer::window) return {buffer, word_ring(rank, step)};
  return {buffer, {step.peer, step.peer, buffer == Buffer::staging ? step.alternate : 0, 1}};
}

}  // namespace

Ring word_ring(Rank rank, const Step& step) {
  const bool puts = step.kind == StepKind::put;
  const Rank home = puts ? step.peer : rank;
  if ((puts ? step.to : step.from) != Buffer::window) return fixed(home);
  return {home, step.crosses ? (puts ? rank : step.peer) : home, step.alternate, step.slots - 1};
}

Operand source(const Plan& plan, const Step& step) {
  return step.kind == StepKind::take ? reached(plan.rank, step, step.from) : own(plan, step.from);
}

Operand target(const Plan& plan, const Step& step) {
  return step.kind == StepKind::put ? reached(plan.rank, step, step.to) : own(plan, step.to);
}

Operand message_place(const Plan& plan, Buffer buffer) {
  return own(plan, buffer);
}

}  // namespace laneway::verification
