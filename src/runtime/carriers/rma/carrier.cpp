#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/node/mailboxes.hpp"

// Ranks that share no memory put messages into each other's windows, through the network.

namespace laneway {

namespace {

using local::Mode;
using local::Offer;
using local::Side;

bool is_outside(const CarrierView& view, Rank peer) {
  return view.options.puts && !view.is_local(peer);
}

/// What is sent from a device goes through the host's memory, where messages are packed. The window has a word that
/// says how far the receiver has come.
bool offer_to_put(const CarrierView& view, Side& side, std::int64_t& window_bytes, Offer& offer) {
  if (view.options.send_on_device || view.options.lends != 0) return false;
  side.reply = window_bytes;
  window_bytes += cache_line;
  offer.reply = side.reply;
  return true;
}

std::optional<Mode> answer_with_slots(const CarrierView& view, const Side&, const Offer&, bool offered) {
  if (!offered || view.options.receive_on_device) return std::nullopt;
  return Mode::mailbox;
}

/// Two slots each, used in turn, with the word behind the bytes.
std::int64_t lay_out_slots(const CarrierView&, std::span<Side* const> brought, std::int64_t window_bytes) {
  for (Side* const side : brought) {
    side->slot = window_bytes;
    side->flag = window_bytes + local::word_offset(side->bytes);
    side->ring = {local::slot_bytes(side->bytes), 2, false};
    window_bytes += side->ring.places * side->ring.distance;
  }
  return window_bytes;
}

/// The receiver says when it has taken a message. A sender completes an exchange when it knows that of the one before,
/// so that the slot that it writes next is free.
std::optional<Step> give_credit(const Step& step, const Side& side) {
  const bool waits = step.raise.has_value();
  Step credit;
  credit.kind = waits ? StepKind::await : StepKind::raise;
  credit.span = {Buffer::window, side.reply, 0};
  (waits ? credit.await : credit.raise) = Word{Sign::flag, !waits, waits ? 1 : 0, side.reply, {}};
  if (!waits) credit.from = Buffer::window;
  return credit;
}

std::optional<Reached> bind_far(const NodeMemory& memory, const Operand& operand, Rank peer) {
  if (operand.buffer != Buffer::window || !memory.is_far(peer)) return std::nullopt;
  std::byte* const other = memory.peers.at(peer).window;
  std::byte* const own = memory.own_window(peer);
  return operand.of_peer ? Reached{other, own} : Reached{own, other};
}

}  // namespace

Carrier rma_carrier() {
  return {.name = "rma",
          .reaches = is_outside,
          .offer = offer_to_put,
          .answer = answer_with_slots,
          .lay_out = lay_out_slots,
          .rewrite = local::rewrite_mailed,
          .follow = give_credit,
          .bind = bind_far};
}

}  // namespace laneway
