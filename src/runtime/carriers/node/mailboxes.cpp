#include "runtime/carriers/node/mailboxes.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "plan/writer/copy_runs.hpp"
#include "runtime/carriers/carrier.hpp"

namespace laneway::local {

namespace {

std::int64_t rounded_up(std::int64_t bytes, std::int64_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

std::int64_t word_offset(std::int64_t bytes) {
  return rounded_up(bytes, 8);
}

std::int64_t slot_bytes(std::int64_t bytes) {
  return rounded_up(word_offset(bytes) + 8, cache_line);
}

void rewrite_mailed(Step& step, const Side& side) {
  if (step.kind == StepKind::send) {
    step.to = {Buffer::window, true, side.ring};
    step.runs = copy_runs(side.ranges, {{side.slot, side.bytes}});
  } else {
    step.from = {Buffer::window, false, side.ring};
    RangeList from;
    from.append(side.positions, side.slot);
    step.runs = copy_runs(from, side.ranges);
  }
}

/// Of the message of the same number to the peer; -1 if there is none that fits a mailbox.
std::int64_t Mailboxes::answer_bytes(const Side& in) const {
  const auto sides = out_.find(in.peer);
  if (sides == out_.end() || in.number >= sides->second.size()) return -1;
  const std::int64_t bytes = sides->second[in.number].bytes;
  return bytes <= options_.mailbox_bytes ? bytes : -1;
}

std::int64_t Mailboxes::most_mailed(const Side& in) const {
  return answer_bytes(in) >= 0 ? options_.mailbox_bytes : options_.mailbox_bytes / 2;
}

/// Of a slot without its word: what the pair's messages of the same number need, in both directions.
std::int64_t Mailboxes::bytes(const Side& in) const {
  return word_offset(std::max(in.bytes, answer_bytes(in)));
}

int Mailboxes::slots(Rank peer, std::int64_t bytes) const {
  if (out_.contains(peer)) return 2;
  const auto fit = static_cast<std::uint64_t>(std::min(options_.slots, options_.slots_bytes / slot_bytes(bytes)));
  return std::max(2, static_cast<int>(std::bit_floor(fit)));
}

void Mailboxes::drop_largest(std::span<Side* const> in) const {
  std::vector<std::pair<std::int64_t, Side*>> boxed;
  for (Side* const side : in) {
    const std::int64_t size = bytes(*side);
    if (side->mode == Mode::mailbox) boxed.emplace_back(slots(side->peer, size) * slot_bytes(size), side);
  }
  std::ranges::stable_sort(boxed, {}, &std::pair<std::int64_t, Side*>::first);
  std::int64_t total = 0;
  for (const auto& [size, side] : boxed) {
    total += size;
    if (total > options_.all_mailboxes_bytes) side->mode = Mode::message;
  }
}

std::int64_t Mailboxes::lay_out(std::span<Side* const> in, std::int64_t window_bytes) const {
  std::map<int, std::int64_t> distance;  // of two slots, by the number of slots
  for (Side* const side : in) {
    if (side->mode == Mode::push || side->mode == Mode::pull) {
      side->flag = window_bytes;
      window_bytes += cache_line;
    } else if (side->mode == Mode::mailbox) {
      const std::int64_t size = bytes(*side);
      side->ring.places = static_cast<std::int16_t>(slots(side->peer, size));
      side->slot = distance[side->ring.places];
      side->flag = side->slot + size;
      distance[side->ring.places] += slot_bytes(size);
    }
  }
  std::map<int, std::int64_t> begin;  // of the first slots
  for (const auto& [n, bytes] : distance) {
    begin[n] = window_bytes;
    window_bytes += n * bytes;
  }
  for (Side* const side : in) {
    if (side->mode != Mode::mailbox) continue;
    side->slot += begin.at(side->ring.places);
    side->flag += begin.at(side->ring.places);
    side->ring.distance = distance.at(side->ring.places);
  }
  return window_bytes;
}

void cross_over(Sides& out, Sides& in) {
  for (auto& [peer, sides] : out) {
    const auto back = in.find(peer);
    if (back == in.end()) continue;
    for (std::size_t m = 0; m < std::min(sides.size(), back->second.size()); ++m) {
      Side& to = sides[m];
      Side& from = back->second[m];
      if (to.mode != Mode::mailbox || from.mode != Mode::mailbox || to.carrier != from.carrier) continue;
      if (!carrier_of(to).gated) continue;
      to.ring = {from.slot - to.slot, 2, true};
      from.ring = {to.slot - from.slot, 2, true};
    }
  }
}

}  // namespace laneway::local
