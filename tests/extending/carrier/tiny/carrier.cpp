#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/node/mailboxes.hpp"
#include "runtime/carriers/node/sharing.hpp"

// Short messages inside a node go through two slots, and the receiver says when it has taken one.

namespace laneway {

namespace {

using local::Side;

bool offer(const CarrierView& view, Side& side, std::int64_t& window_bytes, local::Offer& offer) {
  if (view.options.send_on_device || view.options.lends != 0 || side.bytes > 4096) return false;
  side.reply = window_bytes;
  window_bytes += cache_line;
  offer.reply = side.reply;
  return true;
}

std::optional<local::Mode> answer(const CarrierView& view, const Side&, const local::Offer&, bool offered) {
  if (!offered || view.options.receive_on_device) return std::nullopt;
  return local::Mode::mailbox;
}

std::int64_t lay_out(const CarrierView&, std::span<Side* const> brought, std::int64_t window_bytes) {
  for (Side* const side : brought) {
    side->slot = window_bytes;
    side->flag = window_bytes + local::word_offset(side->bytes);
    side->ring = {local::slot_bytes(side->bytes), 2, false};
    window_bytes += side->ring.places * side->ring.distance;
  }
  return window_bytes;
}

std::optional<Step> follow(const Step& step, const Side& side) {
  const bool waits = step.raise.has_value();
  Step credit;
  credit.kind = waits ? StepKind::await : StepKind::raise;
  credit.span = {Buffer::window, side.reply, 0};
  (waits ? credit.await : credit.raise) = Word{Sign::flag, !waits, waits ? 1 : 0, side.reply, {}};
  if (!waits) credit.from = Buffer::window;
  return credit;
}

std::optional<Reached> bind(const NodeMemory& memory, const Operand& operand, Rank peer) {
  const auto other = memory.peers.find(peer);
  if (operand.buffer != Buffer::window || memory.is_far(peer) || other == memory.peers.end()) return std::nullopt;
  std::byte* const own = memory.own.window;
  return operand.of_peer ? Reached{other->second.window, own} : Reached{own, other->second.window};
}

}  // namespace

Carrier tiny_carrier() {
  return {.name = "tiny",
          .reaches = is_in_node,
          .offer = offer,
          .answer = answer,
          .lay_out = lay_out,
          .rewrite = local::rewrite_mailed,
          .follow = follow,
          .share = share_with_node,
          .bind = bind};
}

}  // namespace laneway
