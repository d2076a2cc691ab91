#include "runtime/carriers/rewriting.hpp"

#include <algorithm>

#include "base/bytes/disjoint.hpp"
#include "base/bytes/sort_unique.hpp"
#include "base/error.hpp"
#include "plan/writer/bundles.hpp"
#include "runtime/carriers/carrier.hpp"

namespace laneway::local {

namespace {

/// Whether they have a byte in common: fast where `few` has few ranges.
bool meet(const RangeSet& few, const RangeSet& many) {
  return std::ranges::any_of(few.ranges(), [&](const Range& range) {
    const auto next = std::ranges::upper_bound(many.ranges(), range.offset, {}, &Range::end);
    return next != many.ranges().end() && next->offset < range.end();
  });
}

/// How many exchanges before this one must be complete, by the distance of the two places of staging memory.
std::int32_t lag(std::int64_t alternate) {
  return alternate > 0 ? 2 : 1;
}

bool is_scattered(const Step& step) {
  return (step.kind == StepKind::send || step.kind == StepKind::receive) && step.span.is_scattered();
}

/// What a step writes of the staging memory by itself, packing apart.
RangeList staged_by(const Step& step) {
  RangeList written;
  if (step.kind == StepKind::receive)
    step.span.for_each_part([&](Buffer buffer, const RangeList& ranges) {
      if (buffer == Buffer::staging) written.append(ranges);
    });
  if (step.kind == StepKind::move && step.to == Buffer::staging) written.append(written_by(step.runs));
  return written;
}

/// The flag of a mailbox is beside its bytes; others have one place.
Ring ring_of_flag(const Side& side) {
  return side.mode == Mode::mailbox ? side.ring : Ring{};
}

}  // namespace

PeerUse::PeerUse(const Sides& out, const Sides& in) {
  const auto is_gated = [&](const Side& side) {
    if (side.mode == Mode::message) return false;
    brings = brings || !carrier_of(side).gated;
    return carrier_of(side).gated;
  };
  for (const auto& [peer, sides] : in)
    for (const Side& side : sides) {
      if (is_gated(side)) taken_from.insert(peer);
      pushed_here = pushed_here || side.mode == Mode::push;
    }
  for (const auto& [peer, sides] : out) {
    std::vector<Range> ranges;
    for (const Side& side : sides) {
      if (!is_gated(side)) continue;
      if (side.mode == Mode::borrow) taken_from.insert(peer);  // its reply
      if (side.mode == Mode::push) pushed_to[peer] = side.ring.distance;
      if (side.mode == Mode::mailbox) {
        int& slots = mailed_to.try_emplace(peer, side.ring.places).first->second;
        slots = std::min(slots, int{side.ring.places});
      }
      if (side.mode == Mode::pull) side.ranges.for_each([&](Range range) { ranges.push_back(range); });
    }
    if (!ranges.empty()) pulled.emplace(peer, RangeSet(std::move(ranges)));
  }
}

Rewriting::Rewriting(Plan& plan, const Sides& out, const Sides& in, const PeerUse& use, bool shares_staging,
                     std::int64_t alternate)
    : plan_(plan), use_(use), shares_(shares_staging), alternate_(alternate), side_of_(plan.steps.size(), nullptr) {
  for (const Sides* all : {&out, &in})
    for (const auto& [peer, sides] : *all)
      for (const Side& side : sides)
        if (side.mode != Mode::message) side_of_[static_cast<std::size_t>(side.step)] = &side;
}

void Rewriting::run(const Region& node) {
  steps_.reserve(plan_.steps.size());
  add_first_gates(node);
  std::vector<int> here(plan_.steps.size());  // by step of the plan before
  std::map<int, int> followed;                // by a step of the carrier's: which one, by the step before it
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    Step step = std::move(plan_.steps[s]);
    for (int& before : step.after) before = here[static_cast<std::size_t>(before)];
    if (step.kind == StepKind::event)
      for (int& before : step.after)
        if (const auto next = followed.find(before); next != followed.end()) before = next->second;
    const Side* const side = side_of_[s];
    if (side == nullptr) {
      const std::vector<int> gates = gates_before(step);
      step.after.insert(step.after.end(), gates.begin(), gates.end());
    } else if (step.kind == StepKind::send) {
      put(step, *side);
    } else {
      take(step, *side);
    }
    here[s] = add(std::move(step));
    if (side == nullptr) continue;
    if (const int next = follow(*side); next >= 0) followed[here[s]] = next;
  }
  for (const auto& [peer, slots] : use_.mailed_to)
    if (!use_.taken_from.contains(peer)) add_gate(peer, Sign::started, slots - 2);
  plan_.steps = std::move(steps_);
}

int Rewriting::add(Step step) {
  sort_unique(step.after);
  steps_.push_back(std::move(step));
  return static_cast<int>(steps_.size()) - 1;
}

int Rewriting::add_gate(Rank peer, Sign sign, std::int32_t lag) {
  Step gate;
  gate.kind = StepKind::await;
  gate.peer = peer;
  gate.await = Word{sign, peer != plan_.rank, lag, 0, {}};
  return add(std::move(gate));
}

void Rewriting::add_first_gates(const Region& node) {
  for (Rank peer : node.members) {
    const auto pushed = use_.pushed_to.find(peer);
    const bool pushes = pushed != use_.pushed_to.end();
    if (pushes)
      may_push_[peer] = shares_ ? add_gate(peer, Sign::ready, 0) : add_gate(peer, Sign::completed, lag(pushed->second));
    if (shares_ || !use_.pulled.contains(peer)) continue;
    has_pulled_[peer] = pushes && lag(pushed->second) == lag(alternate_)
                            ? may_push_.at(peer)
                            : add_gate(peer, Sign::completed, lag(alternate_));
  }
  if (shares_ && fills_staging()) own_ready_ = add_gate(plan_.rank, Sign::ready, 0);
}

bool Rewriting::fills_staging() const {
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& step = plan_.steps[s];
    const Side* const side = side_of_[s];
    const bool fills = side ? step.kind == StepKind::receive && side->buffer == Buffer::staging
                            : is_scattered(step) || !staged_by(step).empty();
    if (fills) return true;
  }
  return false;
}

/// Of a step that stays as it is: until nobody reads any more what it, or the packing of its message, writes.
std::vector<int> Rewriting::gates_before(const Step& step) {
  std::vector<int> gates;
  const RangeList written = staged_by(step);
  if (shares_) {
    if (is_scattered(step) || !written.empty()) gates.push_back(own_ready_);
  } else if (!written.empty()) {
    const RangeSet bytes(written);
    for (const auto& [reader, taken] : use_.pulled)
      if (meet(bytes, taken)) gates.push_back(has_pulled_.at(reader));
  }
  if (step.kind == StepKind::receive) {  // those of one channel must begin in plan order
    std::set<int>& earlier = gates_of_[{step.peer, step.channel}];
    earlier.insert(gates.begin(), gates.end());
    gates.assign(earlier.begin(), earlier.end());
  }
  return gates;
}

void Rewriting::put(Step& step, const Side& side) const {
  step.span = {Buffer::window, side.slot, side.bytes};
  step.raise = Word{Sign::flag, true, 0, side.flag, ring_of_flag(side)};
  step.from = side.buffer;
  carrier_of(side).rewrite(step, side);
  if (side.mode == Mode::push) {
    if (step.runs.empty()) step.from = Buffer::window;  // or it would lend
    if (carrier_of(side).gated) step.after.push_back(may_push_.at(step.peer));
  }
  step.kind = step.runs.empty() ? StepKind::raise : StepKind::move;
  if (step.runs.empty()) step.to = Step().to;
}

void Rewriting::take(Step& step, const Side& side) {
  step.span = {Buffer::window, side.slot, side.bytes};
  step.await = Word{Sign::flag, false, 0, side.flag, ring_of_flag(side)};
  carrier_of(side).rewrite(step, side);
  step.kind = step.runs.empty() ? StepKind::await : StepKind::move;
  if (!step.runs.empty()) step.to = side.buffer;
  if (carrier_of(side).gated) {
    if (shares_ && side.buffer == Buffer::staging) step.after.push_back(own_ready_);
    return;
  }
  const std::vector<int> gates = gates_before(step);
  step.after.insert(step.after.end(), gates.begin(), gates.end());
}

/// What the carrier has come after the last step; -1: nothing.
int Rewriting::follow(const Side& side) {
  const Carrier& carrier = carrier_of(side);
  const Step& last = steps_.back();
  std::optional<Step> next = carrier.follow != nullptr ? carrier.follow(last, side) : std::nullopt;
  if (!next) return -1;
  next->stage = last.stage;
  next->peer = last.peer;
  next->channel = last.channel;
  next->after = {static_cast<int>(steps_.size()) - 1};
  return add(*std::move(next));
}

}  // namespace laneway::local
