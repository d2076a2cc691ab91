#include "runtime/carriers/localizer.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/lowering/pack.hpp"
#include "base/bytes/wire.hpp"
#include "runtime/carriers/rewriting.hpp"

namespace laneway {

using local::Answer;
using local::Offer;
using local::PeerUse;

namespace {

bool is_message(const Step& step) {
  return step.kind == StepKind::send || step.kind == StepKind::receive;
}

}  // namespace

Localizer::Localizer(Plan plan, const Region& node, const LocalOptions& options)
    : plan_(std::move(plan)), node_(node), options_(options) {
  const std::int64_t staging = packed_staging_bytes(plan_);
  if (!options.shares_staging && staging <= options.doubled_staging_bytes)
    alternate_ = (staging + cache_line - 1) / cache_line * cache_line;
  plan_ = pack(std::move(plan_), [this](const Step& step) { return is_packed_first(step); });
  for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
    const Step& message = plan_.steps[static_cast<std::size_t>(s)];
    if (!is_message(message) || !is_reached(message.peer)) continue;
    (message.kind == StepKind::send ? out_ : in_)[message.peer].push_back(local::side_of(message, s));
  }
  for (local::Sides* sides : {&out_, &in_})
    for (auto& [peer, list] : *sides) {
      std::ranges::stable_sort(list, {}, &Side::channel);
      for (std::size_t m = 0; m < list.size(); ++m) list[m].number = m;
    }
}

/// By a carrier that need not leave it a message.
bool Localizer::is_reached(Rank peer) const {
  return std::ranges::any_of(carriers(), [&](const Carrier& carrier) {
    return carrier.reaches != nullptr && may_carry(carrier) && carrier.reaches(view(), peer);
  });
}

/// One put or take reads or writes one buffer. Large messages are taken from where the host has what a device sends.
bool Localizer::is_packed_first(const Step& step) const {
  if (!is_message(step) || !is_reached(step.peer)) return false;
  if (!local::is_in_one_buffer(step.span)) return true;
  return step.kind == StepKind::send && options_.send_on_device && step.span.bytes > options_.mailbox_bytes &&
         step.span.parts().front().buffer == Buffer::send;
}

void Localizer::choose(Side& side, const Offer& offer) const {
  side.mode = Mode::message;
  for (std::uint8_t c = 0; c < carriers().size(); ++c) {
    const Carrier& carrier = carriers()[c];
    if (carrier.answer == nullptr || !may_carry(carrier)) continue;
    if (carrier.reaches != nullptr && !carrier.reaches(view(), side.peer)) continue;
    const std::optional<Mode> mode = carrier.answer(view(), side, offer, (offer.by >> c & 1U) != 0);
    if (!mode) continue;
    side.mode = *mode;
    side.carrier = c;
    return;
  }
}

Offer Localizer::offer(Side& side) {
  Offer offer;
  offer.channel = side.channel;
  offer.bytes = side.bytes;
  for (std::size_t c = 0; c < carriers().size(); ++c) {
    const Carrier& carrier = carriers()[c];
    if (carrier.offer == nullptr || !may_carry(carrier) || !carrier.reaches(view(), side.peer)) continue;
    if (carrier.offer(view(), side, plan_.window_bytes, offer)) offer.by |= 1U << c;
  }
  return offer;
}

Round Localizer::begin() {
  plan_.window_bytes = window_header_bytes;
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (auto& [peer, sides] : out_) {
    Writer control_message;
    control_message.put(sides.size());
    for (Side& side : sides) offer(side).put(control_message);
    round.control_messages.push_back({peer, control_message.take()});
  }
  for (const auto& [peer, sides] : in_) round.from.push_back(peer);
  return round;
}

Round Localizer::resume(const std::vector<Bytes>& inbox) {
  if (std::exchange(answered_, true)) return rewrite(inbox);
  return answer(inbox);
}

/// What the sides see differently, they leave to the MPI library, which reports it.
void Localizer::read_offers(std::vector<Side>& sides, const Bytes& data) {
  Reader control_message(data);
  const auto n = control_message.get<std::size_t>();
  bool agrees = n == sides.size();
  for (std::size_t m = 0; m < n; ++m) {
    Offer offer = Offer::get(control_message);
    if (m >= sides.size()) continue;
    Side& side = sides[m];
    agrees = agrees && side.channel == offer.channel && side.bytes == offer.bytes;
    choose(side, offer);
    side.reply = offer.reply;
    side.ring = offer.ring;
    side.peer_ranges = std::move(offer.ranges);
  }
  if (agrees) return;
  for (Side& side : sides) side.mode = Mode::message;
}

void Localizer::lay_out() {
  for (std::uint8_t c = 0; c < carriers().size(); ++c) {
    if (carriers()[c].lay_out == nullptr) continue;
    std::vector<Side*> brought;
    for (auto& [peer, sides] : in_)
      for (Side& side : sides)
        if (side.mode != Mode::message && side.carrier == c) brought.push_back(&side);
    plan_.window_bytes = carriers()[c].lay_out(view(), brought, plan_.window_bytes);
  }
}

Round Localizer::answer(const std::vector<Bytes>& inbox) {
  std::size_t i = 0;
  for (auto& [peer, sides] : in_) read_offers(sides, inbox[i++]);
  lay_out();
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (const auto& [peer, sides] : in_) {
    Writer control_message;
    for (const Side& side : sides)
      Answer{side.mode, side.carrier, side.flag, side.slot, side.ring, side.positions, side.ranges}.put(
          control_message);
    round.control_messages.push_back({peer, control_message.take()});
  }
  for (const auto& [peer, sides] : out_) round.from.push_back(peer);
  return round;
}

Round Localizer::rewrite(const std::vector<Bytes>& inbox) {
  std::size_t i = 0;
  for (auto& [peer, sides] : out_) {
    Reader control_message(inbox[i++]);
    for (Side& side : sides) {
      if (control_message.done()) break;
      Answer answer = Answer::get(control_message);
      side.mode = answer.mode;
      side.carrier = answer.carrier;
      side.flag = answer.flag;
      side.slot = answer.slot;
      side.ring = answer.ring;
      side.peer_positions = std::move(answer.positions);
      side.peer_ranges = std::move(answer.ranges);
    }
  }
  for (const Carrier& carrier : carriers())
    if (carrier.settle != nullptr) carrier.settle(plan_, out_, in_);
  const PeerUse use(out_, in_);
  if (use.is_none()) plan_.window_bytes = 0;
  for (const auto& [reader, bytes] : use.pulled) takers_.push_back(reader);
  if (!use.is_none() || options_.shares_staging)
    local::Rewriting(plan_, out_, in_, use, options_.shares_staging, alternate_).run(node_);
  pack_rest(use.pushed_here || !use.pulled.empty());
  return {};
}

/// What the MPI library carries. `uses_places`: peers reach this rank's staging memory, of which all has two places.
void Localizer::pack_rest(bool uses_places) {
  plan_ = pack(std::move(plan_));
  if (alternate_ == 0 || !uses_places) return;
  plan_.staging_alternate = alternate_;
  plan_.staging_bytes = 2 * alternate_;
}

}  // namespace laneway
