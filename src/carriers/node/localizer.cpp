#include "carriers/node/localizer.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/disjoint.hpp"
#include "core/wire.hpp"
#include "plan/builder.hpp"
#include "plan/bundles.hpp"

namespace laneway {

namespace {

/// The bytes at `positions` of the sequence that `list` names.
RangeList pick(const RangeList& list, const RangeList& positions) {
  if (positions == RangeList{{0, list.bytes()}}) return list;
  const Slicer slicer(list);
  RangeList picked;
  positions.for_each([&](Range wanted) { picked.append(slicer.slice(wanted.offset, wanted.bytes)); });
  return picked;
}

/// What copies move between staging memory and another buffer: a block, or, of what lies together in staging memory
/// and is not one block there, the list of that number.
struct Moved {
  std::int64_t staged = 0;
  Range other;
  int list = -1;
};

struct AllMoved {
  std::vector<Moved> blocks;  // by their place in staging memory
  std::vector<RangeList> lists;

  void append_to(RangeList& place, const Moved& block) const {
    if (block.list < 0)
      place.append(block.other);
    else
      place.append(lists[static_cast<std::size_t>(block.list)]);
  }
};

struct CopySides {
  std::int64_t CopyRun::*staged;
  std::int64_t CopyRun::*staged_stride;
  std::int64_t CopyRun::*other;
  std::int64_t CopyRun::*other_stride;
};
constexpr CopySides to_staging = {&CopyRun::to, &CopyRun::to_stride, &CopyRun::from, &CopyRun::from_stride};
constexpr CopySides from_staging = {&CopyRun::from, &CopyRun::from_stride, &CopyRun::to, &CopyRun::to_stride};

AllMoved moved(const Plan& plan, const std::vector<int>& steps, const CopySides& sides) {
  AllMoved all;
  for (int s : steps)
    for_each_bundle(plan.steps[static_cast<std::size_t>(s)].runs, [&](std::span<const CopyRun> bundle) {
      if (bundle.front().count > 1) {
        std::optional<Packed> packed = pack(bundle, sides.staged, sides.staged_stride, sides.other, sides.other_stride);
        if (packed) {
          all.blocks.push_back({packed->here.offset, {0, packed->here.bytes}, static_cast<int>(all.lists.size())});
          all.lists.push_back(std::move(packed->there));
          return;
        }
      }
      for (const CopyRun& run : bundle)
        for (std::int64_t i = 0; i < run.count; ++i)
          all.blocks.push_back({run.*sides.staged + i * run.*sides.staged_stride,
                                {run.*sides.other + i * run.*sides.other_stride, run.bytes},
                                -1});
    });
  std::sort(all.blocks.begin(), all.blocks.end(), [](const Moved& a, const Moved& b) { return a.staged < b.staged; });
  return all;
}

std::int64_t from_of(const CopyRun& run, std::int64_t i) {
  return run.from + i * run.from_stride;
}

bool lies_in(const End& span, std::int64_t offset, std::int64_t bytes) {
  return offset >= span.offset && offset + bytes <= span.offset + span.bytes;
}

std::int64_t rounded_up(std::int64_t bytes, std::int64_t to) {
  return (bytes + to - 1) / to * to;
}

/// Whether they have a byte in common: fast where `few` has few ranges.
bool meet(const RangeSet& few, const RangeSet& many) {
  return std::ranges::any_of(few.ranges(), [&](const Range& range) {
    const auto next = std::ranges::upper_bound(many.ranges(), range.offset, {}, &Range::end);
    return next != many.ranges().end() && next->offset < range.end();
  });
}

/// Of a mailbox for so many bytes and its word.
std::int64_t slot_bytes(std::int64_t bytes) {
  return rounded_up(rounded_up(bytes, 8) + 8, cache_line);
}

}  // namespace

Localizer::Localizer(Plan plan, const Region& node, const LocalOptions& options)
    : plan_(std::move(plan)), node_(node), options_(options), readers_(plan_.steps.size()) {
  if (!options.shares_staging && plan_.staging_bytes <= options.doubled_staging_bytes)
    alternate_ = rounded_up(plan_.staging_bytes, cache_line);
  for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s)
    for (int before : step(s).after) readers_[static_cast<std::size_t>(before)].push_back(s);
  for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
    if (!is_local(step(s).peer)) continue;
    if (step(s).kind == StepKind::send) out_[step(s).peer].push_back(sending(s));
    if (step(s).kind == StepKind::receive) in_[step(s).peer].push_back(receiving(s));
  }
  for (auto* sides : {&out_, &in_})
    for (auto& [peer, list] : *sides)
      std::stable_sort(list.begin(), list.end(),
                       [&](const Side& a, const Side& b) { return step(a.step).channel < step(b.step).channel; });
}

bool Localizer::is_local(Rank peer) const {
  return std::binary_search(node_.members.begin(), node_.members.end(), peer);
}

Localizer::Side Localizer::sending(int s) const {
  const End& span = step(s).span;
  Side side;
  side.step = s;
  side.stream = {{0, span.bytes}};
  if (span.buffer == Buffer::staging) {
    std::vector<int> copies;
    for (int before : step(s).after)
      if (step(before).kind == StepKind::copy) copies.push_back(before);
    const bool only_for_this = std::all_of(copies.begin(), copies.end(), [&](int copy) {
      return readers_[static_cast<std::size_t>(copy)].size() == 1 && step(copy).from == step(copies.front()).from;
    });
    const bool stays = options_.send_on_device && span.bytes > options_.mailbox_bytes;
    if (only_for_this && !copies.empty() && !(stays && step(copies.front()).from == Buffer::send)) {
      RangeList place;
      std::int64_t at = span.offset;
      const AllMoved all = moved(plan_, copies, to_staging);
      for (const Moved& block : all.blocks) {
        if (block.staged == at) all.append_to(place, block);
        at += block.other.bytes;
      }
      if (place.bytes() == span.bytes) {
        side.buffer = step(copies.front()).from;
        side.place = std::move(place);
        side.packing = std::move(copies);
        return side;
      }
    }
  }
  side.buffer = span.buffer;
  side.place = {{span.offset, span.bytes}};
  return side;
}

Localizer::Side Localizer::receiving(int s) const {
  const End& span = step(s).span;
  Side side;
  side.step = s;
  const std::vector<int>& readers = readers_[static_cast<std::size_t>(s)];
  const auto packs = [&](int copy) {
    const std::vector<int>& after = readers_[static_cast<std::size_t>(copy)];
    return std::any_of(after.begin(), after.end(),
                       [&](int reader) { return step(reader).kind == StepKind::send && is_local(step(reader).peer); });
  };
  const bool only_unpacked =
      span.buffer == Buffer::staging && !readers.empty() &&
      std::all_of(readers.begin(), readers.end(), [&](int reader) {
        const Step& copy = step(reader);
        return copy.kind == StepKind::copy && copy.after.size() == 1 && !packs(reader) &&
               copy.to == step(readers.front()).to &&
               std::all_of(copy.runs.begin(), copy.runs.end(), [&](const CopyRun& run) {
                 return lies_in(span, run.from, run.bytes) && lies_in(span, from_of(run, run.count - 1), run.bytes);
               });
      });
  if (!only_unpacked) {
    side.buffer = span.buffer;
    side.stream = {{0, span.bytes}};
    side.place = {{span.offset, span.bytes}};
    return side;
  }
  side.buffer = step(readers.front()).to;
  side.packing = readers;
  const AllMoved all = moved(plan_, readers, from_staging);
  for (const Moved& block : all.blocks) {
    side.stream.append(Range{block.staged - span.offset, block.other.bytes});
    all.append_to(side.place, block);
  }
  return side;
}

/// Whether all that writes the bytes are steps of this rank, which can wait for those that take them.
bool Localizer::can_be_pulled(const Side& side) const {
  if (side.buffer != Buffer::staging) return false;
  const auto comes_from_node = [&](int s) { return step(s).kind == StepKind::receive && is_local(step(s).peer); };
  std::vector<int> writers;
  if (side.packing.empty()) writers = step(side.step).after;
  for (int copy : side.packing) writers.insert(writers.end(), step(copy).after.begin(), step(copy).after.end());
  return std::none_of(writers.begin(), writers.end(), [&](int writer) {
    return comes_from_node(writer) ||
           (step(writer).kind == StepKind::copy &&
            std::any_of(step(writer).after.begin(), step(writer).after.end(), comes_from_node));
  });
}

bool Localizer::is_lent(const Side& side) const {
  return options_.lends != 0 && side.buffer == Buffer::send && step(side.step).span.bytes > options_.lend_bytes;
}

Localizer::Mode Localizer::choose(const Side& side, bool offered, std::uint64_t lent, std::int64_t most_mailed) const {
  const bool reaches = side.buffer == Buffer::staging || options_.receive_on_device;
  if (lent != 0 && lent == options_.borrows && reaches) return Mode::borrow;
  if (side.buffer == Buffer::staging) return Mode::push;
  if (offered) return Mode::pull;
  return step(side.step).span.bytes <= most_mailed ? Mode::mailbox : Mode::message;
}

/// Of the message of the same number to the peer; -1 if there is none that fits a mailbox.
std::int64_t Localizer::answer_bytes(Rank peer, std::size_t message) const {
  const auto sides = out_.find(peer);
  if (sides == out_.end() || message >= sides->second.size()) return -1;
  const std::int64_t bytes = step(sides->second[message].step).span.bytes;
  return bytes <= options_.mailbox_bytes ? bytes : -1;
}

/// What cannot cross over is written into memory that is in the receiver's cache.
std::int64_t Localizer::most_mailed(Rank peer, std::size_t message) const {
  return answer_bytes(peer, message) >= 0 ? options_.mailbox_bytes : options_.mailbox_bytes / 2;
}

/// Of a slot without its word: what the pair's messages of the same number need, in both directions.
std::int64_t Localizer::mailbox_bytes(Rank peer, std::size_t message) const {
  const Side& side = in_.at(peer)[message];
  return rounded_up(std::max(step(side.step).span.bytes, answer_bytes(peer, message)), 8);
}

std::int64_t Localizer::slots(Rank peer, std::int64_t bytes) const {
  return out_.contains(peer) || slot_bytes(bytes) > options_.slot_bytes ? 2 : options_.slots;
}

/// Leaves the largest messages to the MPI library if mailboxes for all would take too much memory.
void Localizer::drop_mailboxes() {
  std::vector<std::pair<std::int64_t, Side*>> boxed;
  for (auto& [peer, sides] : in_)
    for (std::size_t m = 0; m < sides.size(); ++m) {
      const std::int64_t bytes = mailbox_bytes(peer, m);
      if (sides[m].mode == Mode::mailbox) boxed.emplace_back(slots(peer, bytes) * slot_bytes(bytes), &sides[m]);
    }
  std::ranges::stable_sort(boxed, {}, &std::pair<std::int64_t, Side*>::first);
  std::int64_t total = 0;
  for (const auto& [bytes, side] : boxed) {
    total += bytes;
    if (total > options_.all_mailboxes_bytes) side->mode = Mode::message;
  }
}

/// Both ranks of a pair come to the same result.
void Localizer::cross_over() {
  for (auto& [peer, sides] : out_) {
    const auto back = in_.find(peer);
    if (back == in_.end()) continue;
    for (std::size_t m = 0; m < std::min(sides.size(), back->second.size()); ++m) {
      Side& out = sides[m];
      Side& in = back->second[m];
      if (out.mode != Mode::mailbox || in.mode != Mode::mailbox) continue;
      out.crosses = in.crosses = true;
      out.alternate = in.slot - out.slot;
      in.alternate = out.slot - in.slot;
    }
  }
}

Round Localizer::begin() {
  plan_.window_bytes = window_header_bytes;
  for (auto& [peer, sides] : out_)
    for (Side& side : sides) {
      if (!is_lent(side)) continue;
      if (plan_.window_bytes == window_header_bytes) plan_.window_bytes += lent_record_bytes;
      side.reply = plan_.window_bytes;
      plan_.window_bytes += cache_line;
    }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (const auto& [peer, sides] : out_) {
    Writer letter;
    letter.put(sides.size());
    for (const Side& side : sides) {
      letter.put(step(side.step).channel);
      letter.put(step(side.step).span.bytes);
      const bool offered = can_be_pulled(side);
      letter.put(offered);
      letter.put(is_lent(side) ? options_.lends : std::uint64_t{0});
      letter.put(side.reply);
      if (offered || is_lent(side)) letter.put(side.place);
      if (offered) letter.put(alternate_);
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

Round Localizer::answer(const std::vector<Bytes>& inbox) {
  std::map<std::int64_t, std::int64_t> mailboxes;  // by the number of slots: the distance of two
  std::size_t i = 0;
  for (auto& [peer, sides] : in_) {
    Reader letter(inbox[i++]);
    const auto n = letter.get<std::size_t>();
    bool agrees = n == sides.size();
    for (std::size_t m = 0; m < n; ++m) {
      const auto channel = letter.get<int>();
      const auto bytes = letter.get<std::int64_t>();
      const auto offered = letter.get<bool>();
      const auto lent = letter.get<std::uint64_t>();
      const auto reply = letter.get<std::int64_t>();
      RangeList place;
      std::int64_t alternate = 0;
      if (offered || lent != 0) place = letter.get_ranges();
      if (offered) alternate = letter.get<std::int64_t>();
      if (m >= sides.size()) continue;
      Side& side = sides[m];
      agrees = agrees && step(side.step).channel == channel && step(side.step).span.bytes == bytes;
      side.mode = choose(side, offered, lent, most_mailed(peer, m));
      side.reply = reply;
      if (side.mode == Mode::pull) side.alternate = alternate;
      if (side.mode == Mode::pull || side.mode == Mode::borrow) side.peer_place = std::move(place);
    }
    // What the sides see differently, they leave to the MPI library, which reports it.
    if (!agrees)
      for (Side& side : sides) side.mode = Mode::message;
  }
  drop_mailboxes();
  for (auto& [peer, sides] : in_)
    for (std::size_t m = 0; m < sides.size(); ++m) {
      Side& side = sides[m];
      if (side.mode == Mode::push || side.mode == Mode::pull || side.mode == Mode::borrow) {
        side.flag = plan_.window_bytes;
        plan_.window_bytes += cache_line;
      } else if (side.mode == Mode::mailbox) {
        const std::int64_t bytes = mailbox_bytes(peer, m);
        side.slots = slots(peer, bytes);
        side.slot = mailboxes[side.slots];
        side.flag = side.slot + bytes;
        mailboxes[side.slots] += slot_bytes(bytes);
      }
    }
  std::map<std::int64_t, std::int64_t> begin;  // of the first slots
  for (const auto& [n, distance] : mailboxes) {
    begin[n] = plan_.window_bytes;
    plan_.window_bytes += n * distance;
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (auto& [peer, sides] : in_) {
    Writer letter;
    for (Side& side : sides) {
      if (side.mode == Mode::mailbox) {
        side.slot += begin.at(side.slots);
        side.flag += begin.at(side.slots);
        side.alternate = mailboxes.at(side.slots);
      }
      letter.put(side.mode);
      letter.put(side.flag);
      letter.put(side.slot);
      if (side.mode == Mode::mailbox) {
        letter.put(side.alternate);
        letter.put(side.slots);
      }
      if (side.mode != Mode::push) continue;
      letter.put(alternate_);
      letter.put(side.stream);
      letter.put(side.place);
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
      side.mode = letter.get<Mode>();
      side.flag = letter.get<std::int64_t>();
      side.slot = letter.get<std::int64_t>();
      if (side.mode == Mode::mailbox || side.mode == Mode::push) side.alternate = letter.get<std::int64_t>();
      if (side.mode == Mode::mailbox) side.slots = letter.get<std::int64_t>();
      if (side.mode != Mode::push) continue;
      side.peer_stream = letter.get_ranges();
      side.peer_place = letter.get_ranges();
    }
  }
  cross_over();

  std::vector<const Side*> side_of(plan_.steps.size(), nullptr);
  std::vector<bool> replaced(plan_.steps.size(), false);
  std::map<Rank, std::vector<Range>> pulled_ranges;  // from this rank's staging memory, by reader
  std::map<Rank, std::int64_t> pushed_to;            // and the distance of the two places there
  bool pushed_here = false;
  std::map<Rank, std::int64_t> mailed_to;  // and the least number of slots there
  std::set<Rank> taken_from;
  std::vector<Range> lent;
  for (const auto* all : {&out_, &in_})
    for (const auto& [peer, sides] : *all)
      for (const Side& side : sides) {
        if (side.mode == Mode::message) continue;
        side_of[static_cast<std::size_t>(side.step)] = &side;
        for (int copy : side.packing) replaced[static_cast<std::size_t>(copy)] = true;
        if (all == &in_) {
          taken_from.insert(peer);
          pushed_here = pushed_here || side.mode == Mode::push;
          continue;
        }
        if (side.mode == Mode::borrow) {
          taken_from.insert(peer);  // its reply
          lent.push_back(hull(side.place));
        }
        if (side.mode == Mode::push) pushed_to[peer] = side.alternate;
        if (side.mode == Mode::mailbox) {
          std::int64_t& slots = mailed_to.try_emplace(peer, side.slots).first->second;
          slots = std::min(slots, side.slots);
        }
        if (side.mode == Mode::pull)
          side.place.for_each([&, &ranges = pulled_ranges[peer]](Range range) { ranges.push_back(range); });
      }
  std::map<Rank, RangeSet> pulled;
  for (auto& [reader, ranges] : pulled_ranges) pulled.emplace(reader, RangeSet(std::move(ranges)));
  if (mailed_to.empty() && pushed_to.empty() && pulled.empty() && taken_from.empty()) {
    plan_.window_bytes = 0;
    if (!options_.shares_staging) return {};
  }
  if (const RangeSet all(std::move(lent)); !all.empty()) {
    plan_.lent_offset = all.ranges().front().offset;
    plan_.lent_bytes = all.ranges().back().end() - plan_.lent_offset;
  }
  for (const auto& [reader, bytes] : pulled) takers_.push_back(reader);
  if (alternate_ > 0 && (pushed_here || !pulled.empty())) {
    plan_.staging_alternate = alternate_;
    plan_.staging_bytes = 2 * alternate_;
  }

  std::vector<Step> steps;
  const auto add_gate = [&](Rank peer, std::int64_t word, std::int64_t lag) {
    Step gate;
    gate.kind = StepKind::gate;
    gate.peer = peer;
    gate.flag = word;
    gate.lag = lag;
    steps.push_back(std::move(gate));
    return static_cast<int>(steps.size()) - 1;
  };
  const bool shares = options_.shares_staging;
  std::map<Rank, int> may_push;  // into the staging memory of a peer
  std::map<Rank, int> has_pulled;
  for (Rank peer : node_.members) {
    if (const auto pushed = pushed_to.find(peer); pushed != pushed_to.end())
      may_push[peer] = shares ? add_gate(peer, ready_word, 0) : add_gate(peer, completed_word, lag(pushed->second));
    if (shares || !pulled.contains(peer)) continue;
    has_pulled[peer] = may_push.contains(peer) && lag(pushed_to.at(peer)) == lag(alternate_)
                           ? may_push.at(peer)
                           : add_gate(peer, completed_word, lag(alternate_));
  }
  bool fills_staging = false;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& now = plan_.steps[s];
    if (side_of[s])
      fills_staging = fills_staging || (now.kind == StepKind::receive && side_of[s]->buffer == Buffer::staging &&
                                        (side_of[s]->mode == Mode::push || side_of[s]->mode == Mode::borrow));
    else if (!replaced[s])
      fills_staging = fills_staging || (now.kind == StepKind::receive && now.span.buffer == Buffer::staging) ||
                      (now.kind == StepKind::copy && now.to == Buffer::staging);
  }
  const int own_ready = shares && fills_staging ? add_gate(plan_.rank, ready_word, 0) : -1;

  std::vector<std::vector<int>> here(plan_.steps.size());  // by step of the plan so far
  const auto mapped = [&](const std::vector<int>& after) {
    std::vector<int> result;
    for (int before : after) {
      const std::vector<int>& now = here[static_cast<std::size_t>(before)];
      result.insert(result.end(), now.begin(), now.end());
    }
    return result;
  };
  std::map<std::pair<Rank, int>, std::set<int>> gates_of;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    Step& old = plan_.steps[s];
    const Side* side = side_of[s];
    if (replaced[s]) {  // what it waits for, or the take that it is part of, stands for it
      here[s] = mapped(old.after);
      continue;
    }
    Step now = std::move(old);
    now.after = mapped(now.after);
    if (side) {
      const bool puts = now.kind == StepKind::send;
      const std::int64_t bytes = now.span.bytes;
      now.kind = puts ? StepKind::put : StepKind::take;
      now.span = {Buffer::window, side->slot, bytes};
      now.flag = side->flag;
      now.alternate = side->alternate;
      now.slots = side->slots;
      now.crosses = side->crosses;
      if (puts) {
        now.from = side->buffer;
        now.to = side->mode == Mode::push ? Buffer::staging : Buffer::window;
        if (side->mode == Mode::push) {
          now.runs = copy_runs(pick(side->place, side->peer_stream), side->peer_place);
          now.after.push_back(may_push.at(now.peer));
        } else if (side->mode == Mode::mailbox) {
          now.runs = copy_runs(side->place, {{side->slot, bytes}});
        }
      } else {
        now.from = side->mode == Mode::pull ? Buffer::staging : Buffer::window;
        now.to = side->buffer;
        if (shares && side->buffer == Buffer::staging) now.after.push_back(own_ready);
        if (side->mode == Mode::borrow) now.from = Buffer::send;
        if (side->mode == Mode::pull || side->mode == Mode::borrow) {
          now.runs = copy_runs(pick(side->peer_place, side->stream), side->place);
        } else if (side->mode == Mode::mailbox) {
          RangeList from;
          from.append(side->stream, side->slot);
          now.runs = copy_runs(from, side->place);
        }
      }
    } else {
      RangeList written;
      if (now.kind == StepKind::receive && now.span.buffer == Buffer::staging)
        written.append(Range{now.span.offset, now.span.bytes});
      if (now.kind == StepKind::copy && now.to == Buffer::staging) written.append(written_by(now.runs));
      std::vector<int> gates;
      if (!written.empty() && shares) {
        gates.push_back(own_ready);
      } else if (!written.empty()) {
        const RangeSet bytes(written);
        for (const auto& [reader, taken] : pulled)
          if (meet(bytes, taken)) gates.push_back(has_pulled.at(reader));
      }
      if (now.kind == StepKind::receive) {  // those of one channel must begin in plan order
        std::set<int>& earlier = gates_of[{now.peer, now.channel}];
        earlier.insert(gates.begin(), gates.end());
        gates.assign(earlier.begin(), earlier.end());
      }
      now.after.insert(now.after.end(), gates.begin(), gates.end());
    }
    std::sort(now.after.begin(), now.after.end());
    now.after.erase(std::unique(now.after.begin(), now.after.end()), now.after.end());
    here[s] = {static_cast<int>(steps.size())};
    steps.push_back(std::move(now));
    if (side && side->mode == Mode::borrow) {
      Step reply;
      reply.kind = steps.back().kind == StepKind::put ? StepKind::take : StepKind::put;
      reply.stage = steps.back().stage;
      reply.peer = steps.back().peer;
      reply.channel = steps.back().channel;
      reply.span = {Buffer::window, side->reply, 0};
      reply.from = reply.to = Buffer::window;
      reply.flag = side->reply;
      reply.after = here[s];
      steps.push_back(std::move(reply));
    }
  }
  for (const auto& [peer, slots] : mailed_to)
    if (!taken_from.contains(peer)) add_gate(peer, started_word, slots - 2);
  plan_.steps = std::move(steps);
  return {};
}

}  // namespace laneway
