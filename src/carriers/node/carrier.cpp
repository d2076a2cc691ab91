#include <algorithm>

#include "carriers/carrier.hpp"
#include "plan/builder.hpp"

// Ranks of a node write and read each other's windows and staging memory.

namespace laneway {

namespace {

using local::Mode;
using local::Offer;
using local::Side;

/// Whether all that writes the bytes are steps of this rank, which can wait for those that take them.
bool can_be_pulled(const CarrierView& view, const Side& side) {
  if (side.buffer != Buffer::staging) return false;
  const auto comes_from_node = [&](int s) {
    return view.step(s).kind == StepKind::receive && view.is_local(view.step(s).peer);
  };
  return std::ranges::none_of(view.step(side.step).after, [&](int writer) {
    return comes_from_node(writer) ||
           (is_copy(view.step(writer)) && std::ranges::any_of(view.step(writer).after, comes_from_node));
  });
}

void offer_pull(const CarrierView& view, Side& side, std::int64_t&, Offer& offer) {
  if (!can_be_pulled(view, side)) return;
  offer.can_be_pulled = true;
  offer.ranges = side.ranges;
  offer.ring = view.staging_ring;
}

std::optional<Mode> answer(const CarrierView&, const Side& side, const Offer& offer, std::int64_t most_mailed) {
  if (side.ranges.empty()) return Mode::push;  // all of it is dropped: a word is enough
  if (side.buffer == Buffer::staging) return Mode::push;
  if (offer.can_be_pulled) return Mode::pull;
  if (side.bytes <= most_mailed) return Mode::mailbox;
  return std::nullopt;
}

void rewrite_put(Step& step, const Side& side) {
  if (side.mode == Mode::push) {
    step.to = {Buffer::staging, true, side.ring};
    step.runs = copy_runs(local::at_positions(side.ranges, side.peer_positions), side.peer_ranges);
  } else if (side.mode == Mode::mailbox) {
    step.to = {Buffer::window, true, side.ring};
    step.runs = copy_runs(side.ranges, {{side.slot, side.bytes}});
  }
}

void rewrite_take(Step& step, const Side& side) {
  if (side.mode == Mode::pull) {
    step.from = {Buffer::staging, true, side.ring};
    step.runs = copy_runs(local::at_positions(side.peer_ranges, side.positions), side.ranges);
  } else if (side.mode == Mode::mailbox) {
    step.from = {Buffer::window, false, side.ring};
    RangeList from;
    from.append(side.positions, side.slot);
    step.runs = copy_runs(from, side.ranges);
  }
}

void rewrite(Step& step, const Side& side) {
  step.kind == StepKind::send ? rewrite_put(step, side) : rewrite_take(step, side);
}

std::optional<Reached> bind(const NodeMemory& memory, const Operand& operand, Rank peer) {
  if (operand.buffer != Buffer::window && operand.buffer != Buffer::staging) return std::nullopt;
  const auto part = [&](const NodeMemory::Part& of) {
    return operand.buffer == Buffer::window ? of.window : of.staging;
  };
  std::byte* const other = part(memory.peers.at(peer));
  std::byte* const own = part(memory.own);
  return operand.of_peer ? Reached{other, own} : Reached{own, other};
}

}  // namespace

Carrier node_carrier() {
  return {"node", offer_pull, answer, rewrite, bind};
}

}  // namespace laneway
