#include <utility>
#include <vector>

#include "base/bytes/disjoint.hpp"
#include "base/bytes/ranges.hpp"
#include "plan/writer/copy_runs.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/device/steps.hpp"

// Ranks of a node copy straight out of each other's send buffers on devices.

namespace laneway {

namespace {

using local::Mode;
using local::Offer;
using local::Side;

/// The window says where what is lent is, and has a word for the reply to each message.
bool offer_to_lend(const CarrierView& view, Side& side, std::int64_t& window_bytes, Offer& offer) {
  const LocalOptions& options = view.options;
  if (options.lends == 0 || side.buffer != Buffer::send || side.bytes <= options.lend_bytes) return false;
  if (window_bytes == window_header_bytes) window_bytes += lent_record_bytes;
  side.reply = window_bytes;
  window_bytes += cache_line;
  offer.lent = options.lends;
  offer.reply = side.reply;
  offer.ranges = side.ranges;
  return true;
}

std::optional<Mode> borrow(const CarrierView& view, const Side& side, const Offer& offer, bool offered) {
  const LocalOptions& options = view.options;
  const bool reaches = side.buffer == Buffer::staging || options.receive_on_device;
  if (side.ranges.empty() || !offered || offer.lent != options.borrows || !reaches) return std::nullopt;
  return Mode::borrow;
}

/// A word each: it may be taken.
std::int64_t lay_out_words(const CarrierView&, std::span<Side* const> brought, std::int64_t window_bytes) {
  for (Side* const side : brought) {
    side->flag = window_bytes;
    window_bytes += cache_line;
  }
  return window_bytes;
}

/// What is lent is one part of the send buffer.
void settle_lent(Plan& plan, local::Sides& out, local::Sides&) {
  std::vector<Range> hulls;
  for (const auto& [peer, sides] : out)
    for (const Side& side : sides)
      if (side.mode == Mode::borrow) hulls.push_back(hull(side.ranges));
  const RangeSet all(std::move(hulls));
  plan.lent_offset = all.empty() ? 0 : all.ranges().front().offset;
  plan.lent_bytes = all.empty() ? 0 : all.ranges().back().end() - plan.lent_offset;
}

/// The sender moves nothing.
void rewrite_borrowed(Step& step, const Side& side) {
  if (step.kind == StepKind::send) return;
  step.from = {Buffer::send, true};
  step.runs = copy_runs(local::at_positions(side.peer_ranges, side.positions), side.ranges);
}

/// The receiver says that what was lent has been taken, and the sender waits until it does.
std::optional<Step> reply(const Step& step, const Side& side) {
  const bool waits = step.raise.has_value();
  Step reply;
  reply.kind = waits ? StepKind::await : StepKind::raise;
  reply.span = {Buffer::window, side.reply, 0};
  (waits ? reply.await : reply.raise) = Word{Sign::flag, !waits, 0, side.reply, {}};
  if (!waits) reply.from = Buffer::window;
  return reply;
}

}  // namespace

Carrier device_carrier() {
  return {.name = "device",
          .reaches = is_in_node,
          .offer = offer_to_lend,
          .answer = borrow,
          .lay_out = lay_out_words,
          .settle = settle_lent,
          .rewrite = rewrite_borrowed,
          .follow = reply,
          .gated = true,
          .run = run_on_device,
          .follow_stream = follow_stream};
}

}  // namespace laneway
