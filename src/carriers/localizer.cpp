#include "carriers/localizer.hpp"

#include <algorithm>
#include <utility>

#include "carriers/rewriting.hpp"
#include "core/wire.hpp"
#include "passes/pack.hpp"

namespace laneway {

using local::Answer;
using local::Offer;
using local::PeerUse;

Localizer::Localizer(Plan plan, const Region& node, const LocalOptions& options)
    : plan_(std::move(plan)), node_(node), options_(options) {
  const std::int64_t staging = packed_staging_bytes(plan_);
  if (!options.shares_staging && staging <= options.doubled_staging_bytes)
    alternate_ = (staging + cache_line - 1) / cache_line * cache_line;
  plan_ = pack(std::move(plan_), [this](const Step& step) { return is_packed_first(step); });
  for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
    const Step& message = plan_.steps[static_cast<std::size_t>(s)];
    if (!is_local(message.peer)) continue;
    if (message.kind == StepKind::send) out_[message.peer].push_back(local::side_of(message, s));
    if (message.kind == StepKind::receive) in_[message.peer].push_back(local::side_of(message, s));
  }
  for (local::Sides* sides : {&out_, &in_})
    for (auto& [peer, list] : *sides) std::ranges::stable_sort(list, {}, &Side::channel);
}

/// One put or take reads or writes one buffer. Large messages are taken from where the host has what a device sends.
bool Localizer::is_packed_first(const Step& step) const {
  if (!is_local(step.peer)) return false;
  if (!local::is_in_one_buffer(step.span)) return true;
  return step.kind == StepKind::send && options_.send_on_device && step.span.bytes > options_.mailbox_bytes &&
         step.span.parts().front().buffer == Buffer::send;
}

void Localizer::choose(Side& side, const Offer& offer, std::int64_t most_mailed) const {
  side.mode = Mode::message;
  for (const Carrier& carrier : carriers()) {
    if (!may_carry(carrier)) continue;
    const std::optional<Mode> mode = carrier.answer(view(), side, offer, most_mailed);
    if (!mode) continue;
    side.mode = *mode;
    side.carrier = static_cast<std::uint8_t>(&carrier - carriers().data());
    return;
  }
}

Round Localizer::begin() {
  plan_.window_bytes = window_header_bytes;
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (auto& [peer, sides] : out_) {
    Writer letter;
    letter.put(sides.size());
    for (Side& side : sides) {
      Offer offer;
      offer.channel = side.channel;
      offer.bytes = side.bytes;
      for (const Carrier& carrier : carriers())
        if (carrier.offer != nullptr && may_carry(carrier)) carrier.offer(view(), side, plan_.window_bytes, offer);
      offer.put(letter);
    }
    round.letters.push_back({peer, letter.take()});
  }
  for (const auto& [peer, sides] : in_) round.from.push_back(peer);
  return round;
}

Round Localizer::resume(const std::vector<Bytes>& inbox) {
  if (std::exchange(answered_, true)) return rewrite(inbox);
  return answer(inbox);
}

/// What the sides see differently, they leave to the MPI library, which reports it.
void Localizer::read_offers(Rank peer, std::vector<Side>& sides, const Bytes& data, const local::Mailboxes& mailboxes) {
  Reader letter(data);
  const auto n = letter.get<std::size_t>();
  bool agrees = n == sides.size();
  for (std::size_t m = 0; m < n; ++m) {
    Offer offer = Offer::get(letter);
    if (m >= sides.size()) continue;
    Side& side = sides[m];
    agrees = agrees && side.channel == offer.channel && side.bytes == offer.bytes;
    choose(side, offer, mailboxes.most_mailed(peer, m));
    side.reply = offer.reply;
    if (side.mode == Mode::pull) side.ring = offer.ring;
    if (side.mode == Mode::pull || side.mode == Mode::borrow) side.peer_ranges = std::move(offer.ranges);
  }
  if (agrees) return;
  for (Side& side : sides) side.mode = Mode::message;
}

Round Localizer::answer(const std::vector<Bytes>& inbox) {
  local::Mailboxes mailboxes(out_, in_, options_);
  std::size_t i = 0;
  for (auto& [peer, sides] : in_) read_offers(peer, sides, inbox[i++], mailboxes);
  mailboxes.drop_largest();
  plan_.window_bytes = mailboxes.lay_out(plan_.window_bytes);
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (const auto& [peer, sides] : in_) {
    Writer letter;
    for (const Side& side : sides) {
      Answer answer{side.mode, side.carrier, side.flag, side.slot, side.ring, {}, {}};
      if (side.mode == Mode::push) {
        answer.ring = own_ring();
        answer.positions = side.positions;
        answer.ranges = side.ranges;
      }
      answer.put(letter);
    }
    round.letters.push_back({peer, letter.take()});
  }
  for (const auto& [peer, sides] : out_) round.from.push_back(peer);
  return round;
}

Round Localizer::rewrite(const std::vector<Bytes>& inbox) {
  std::size_t i = 0;
  for (auto& [peer, sides] : out_) {
    Reader letter(inbox[i++]);
    for (Side& side : sides) {
      if (letter.done()) break;
      Answer answer = Answer::get(letter);
      side.mode = answer.mode;
      side.carrier = answer.carrier;
      side.flag = answer.flag;
      side.slot = answer.slot;
      side.ring = answer.ring;
      side.peer_positions = std::move(answer.positions);
      side.peer_ranges = std::move(answer.ranges);
    }
  }
  local::cross_over(out_, in_);
  const PeerUse use(out_, in_);
  if (use.is_none()) plan_.window_bytes = 0;
  plan_.lent_offset = use.lent.offset;
  plan_.lent_bytes = use.lent.bytes;
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
