#include <algorithm>
#include <set>
#include <vector>

#include "algorithms/lowering/through_host.hpp"
#include "base/bytes/ranges.hpp"
#include "plan/writer/bundles.hpp"
#include "plan/writer/copy_runs.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/node/mailboxes.hpp"
#include "runtime/carriers/node/sharing.hpp"

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

/// Whether a step reads or writes some of the bytes of the own staging memory.
bool touches_staging(const Step& step, const RangeSet& bytes) {
  RangeList touched;
  if (step.kind == StepKind::send || step.kind == StepKind::receive)
    step.span.for_each_part([&](Buffer buffer, const RangeList& ranges) {
      if (buffer == Buffer::staging) touched.append(ranges);
    });
  if (step.kind == StepKind::move && step.from == Buffer::staging) touched.append(read_by(step.runs));
  if (step.kind == StepKind::move && step.to == Buffer::staging) touched.append(written_by(step.runs));
  return !intersect(RangeSet(touched), bytes).empty();
}

/// A sender does not know what of this exchange has to be over before a place may be written again.
bool can_be_pushed(const CarrierView& view, const Side& side) {
  if (side.buffer != Buffer::staging) return false;
  const std::vector<int>& after = view.step(side.step).after;
  if (after.empty()) return true;
  const RangeSet bytes(side.ranges);
  return std::ranges::none_of(after, [&](int before) { return touches_staging(view.step(before), bytes); });
}

/// Nor does this rank, when it writes a place again in this exchange, know when it has been taken from there.
bool is_written_again(const CarrierView& view, const Side& side) {
  const auto first = view.plan.steps.begin() + side.step + 1;
  return std::any_of(first, view.plan.steps.end(), [&](const Step& step) {
    return step.kind != StepKind::send && std::ranges::find(step.after, side.step) != step.after.end() &&
           touches_staging(step, RangeSet(side.ranges));
  });
}

/// Whether all that writes the bytes are steps of this rank, which can wait for those that take them, and none is
/// later. A place that is combined into several times was first written by one of the steps that its last copy comes
/// after.
bool can_be_pulled(const CarrierView& view, const Side& side) {
  if (side.buffer != Buffer::staging) return false;
  std::vector<int> open = view.step(side.step).after;
  std::set<int> seen;
  while (!open.empty()) {
    const int writer = open.back();
    open.pop_back();
    if (!seen.insert(writer).second) continue;
    const Step& step = view.step(writer);
    if (step.kind == StepKind::receive && view.is_local(step.peer)) return false;
    if (is_copy(step)) open.insert(open.end(), step.after.begin(), step.after.end());
  }
  return !is_written_again(view, side);
}

bool offer_pull(const CarrierView& view, Side& side, std::int64_t&, Offer& offer) {
  if (!can_be_pulled(view, side)) return false;
  offer.ranges = side.ranges;
  offer.ring = view.staging_ring;
  return true;
}

std::optional<Mode> answer(const CarrierView& view, const Side& side, const Offer&, bool can_be_pulled) {
  const local::Mailboxes mailboxes(view.out, view.options);
  if (side.ranges.empty()) return Mode::push;  // all of it is dropped: a word is enough
  if (mailboxes.lets_ahead(side)) return Mode::mailbox;
  if (can_be_pushed(view, side)) return Mode::push;
  if (can_be_pulled) return Mode::pull;
  // What is relayed comes in pieces of some KiB. A message of the MPI library waits for both ends once more for each.
  const bool is_relayed = view.step(side.step).stage != Stage::direct;
  if (side.bytes <= (is_relayed ? view.options.mailbox_bytes : mailboxes.most_mailed(side))) return Mode::mailbox;
  return std::nullopt;
}

std::int64_t lay_out(const CarrierView& view, std::span<Side* const> brought, std::int64_t window_bytes) {
  const local::Mailboxes mailboxes(view.out, view.options);
  mailboxes.drop_largest(brought);
  for (Side* const side : brought) {
    if (side->mode == Mode::message && can_be_pushed(view, *side)) side->mode = Mode::push;
    if (side->mode == Mode::push) side->ring = view.staging_ring;
  }
  return mailboxes.lay_out(brought, window_bytes);
}

void settle(Plan&, local::Sides& out, local::Sides& in) {
  local::cross_over(out, in);
}

void rewrite(Step& step, const Side& side) {
  if (side.mode == Mode::mailbox) return local::rewrite_mailed(step, side);
  if (step.kind == StepKind::send && side.mode == Mode::push) {
    step.to = {Buffer::staging, true, side.ring};
    step.runs = copy_runs(local::at_positions(side.ranges, side.peer_positions), side.peer_ranges);
  } else if (step.kind != StepKind::send && side.mode == Mode::pull) {
    step.from = {Buffer::staging, true, side.ring};
    step.runs = copy_runs(local::at_positions(side.peer_ranges, side.positions), side.ranges);
  }
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
          .share = share_with_node};
}

}  // namespace laneway
