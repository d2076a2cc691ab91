#include "carriers/carrier.hpp"
#include "plan/builder.hpp"

// Ranks of a node copy straight out of each other's send buffers on devices.

namespace laneway {

namespace {

using local::Mode;
using local::Offer;
using local::Side;

/// The window says where what is lent is, and has a word for the reply to each message.
void offer_to_lend(const CarrierView& view, Side& side, std::int64_t& window_bytes, Offer& offer) {
  const LocalOptions& options = view.options;
  if (options.lends == 0 || side.buffer != Buffer::send || side.bytes <= options.lend_bytes) return;
  if (window_bytes == window_header_bytes) window_bytes += lent_record_bytes;
  side.reply = window_bytes;
  window_bytes += cache_line;
  offer.lent = options.lends;
  offer.reply = side.reply;
  offer.ranges = side.ranges;
}

std::optional<Mode> borrow(const CarrierView& view, const Side& side, const Offer& offer, std::int64_t) {
  const LocalOptions& options = view.options;
  const bool reaches = side.buffer == Buffer::staging || options.receive_on_device;
  if (side.ranges.empty() || offer.lent == 0 || offer.lent != options.borrows || !reaches) return std::nullopt;
  return Mode::borrow;
}

/// The sender moves nothing.
void rewrite_borrowed(Step& step, const Side& side) {
  if (step.kind == StepKind::send) return;
  step.from = {Buffer::send, true};
  step.runs = copy_runs(local::at_positions(side.peer_ranges, side.positions), side.ranges);
}

/// What is lent has no address before the exchange.
std::optional<Reached> bind_lent(const NodeMemory&, const Operand& operand, Rank) {
  if (operand.buffer != Buffer::send) return std::nullopt;
  return Reached{};
}

}  // namespace

Carrier device_carrier() {
  return {"device", offer_to_lend, borrow, rewrite_borrowed, bind_lent};
}

}  // namespace laneway
