#include <algorithm>

#include "carriers/carrier.hpp"
#include "carriers/node/mailboxes.hpp"
#include "carriers/node/sharing.hpp"
#include "passes/through_host.hpp"
#include "plan/builder.hpp"

// Ranks of a node write and read each other's windows and staging memory.

namespace laneway {

namespace {

using local::Mode;
using local::Offer;
using local::Side;

/// Lets what is sent from a device be in staging memory first, of which all, or peers, can take it.
std::optional<Plan> prepare(const Plan& plan, const LocalOptions& options) {
  if (!options.send_on_device) return std::nullopt;
  return fetch_sent(plan, {true, options.receive_on_device}, Buffer::staging);
}

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

bool offer_pull(const CarrierView& view, Side& side, std::int64_t&, Offer& offer) {
  if (!can_be_pulled(view, side)) return false;
  offer.ranges = side.ranges;
  offer.ring = view.staging_ring;
  return true;
}

std::optional<Mode> answer(const CarrierView& view, const Side& side, const Offer&, bool can_be_pulled) {
  if (side.ranges.empty()) return Mode::push;  // all of it is dropped: a word is enough
  if (side.buffer == Buffer::staging) return Mode::push;
  if (can_be_pulled) return Mode::pull;
  if (side.bytes <= local::Mailboxes(view.out, view.options).most_mailed(side)) return Mode::mailbox;
  return std::nullopt;
}

std::int64_t lay_out(const CarrierView& view, std::span<Side* const> brought, std::int64_t window_bytes) {
  const local::Mailboxes mailboxes(view.out, view.options);
  mailboxes.drop_largest(brought);
  for (Side* const side : brought)
    if (side->mode == Mode::push) side->ring = view.staging_ring;
  return mailboxes.lay_out(brought, window_bytes);
}

void settle(Plan&, local::Sides& out, local::Sides& in) {
  local::cross_over(out, in);
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
  const auto found = memory.peers.find(peer);
  if (operand.of_peer && found == memory.peers.end()) return std::nullopt;
  const auto part = [&](const NodeMemory::Part& of) {
    return operand.buffer == Buffer::window ? of.window : of.staging;
  };
  std::byte* const other = found != memory.peers.end() ? part(found->second) : nullptr;
  std::byte* const own = part(memory.own);
  return operand.of_peer ? Reached{other, own} : Reached{own, other};
}

}  // namespace

Carrier node_carrier() {
  return {.name = "node",
          .reaches = is_in_node,
          .prepare = prepare,
          .offer = offer_pull,
          .answer = answer,
          .lay_out = lay_out,
          .settle = settle,
          .rewrite = rewrite,
          .gated = true,
          .share = share_with_node,
          .bind = bind};
}

}  // namespace laneway
