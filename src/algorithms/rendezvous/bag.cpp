#include "algorithms/rendezvous/bag.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace laneway {

namespace {

constexpr std::int64_t least_bundle = 1024;
constexpr std::int64_t most_bundle = 65536;
constexpr std::int64_t bundles_in_flight = 2;
constexpr std::int64_t first_room = 64;   // of a bundle of which nobody knows how long it becomes
constexpr std::size_t header_bytes = 14;  // two numbers, seven bits a byte
/// Messages that are taken between two looks at what has arrived.
constexpr std::uint32_t messages_between_looks = 512;

std::size_t put_number(std::byte* to, std::uint64_t number) {
  std::size_t bytes = 0;
  for (; number > 0x7f; number >>= 7) to[bytes++] = static_cast<std::byte>(number | 0x80);
  to[bytes++] = static_cast<std::byte>(number);
  return bytes;
}

std::uint64_t get_number(const Bytes& data, std::size_t& at) {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    LANEWAY_ASSERT(at < data.size());
    const auto byte = static_cast<std::uint8_t>(data[at++]);
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return number;
  }
}

void put_record(Bytes& bundle, Rank peer, std::span<const std::byte> data) {
  std::array<std::byte, header_bytes> header;
  std::size_t bytes = put_number(header.data(), static_cast<std::uint64_t>(peer));
  bytes += put_number(header.data() + bytes, data.size());
  bundle.insert(bundle.end(), header.data(), header.data() + bytes);
  bundle.insert(bundle.end(), data.begin(), data.end());
}

struct Record {
  Rank peer;
  std::span<const std::byte> data;
};

Record get_record(const Bytes& bundle, std::size_t& at) {
  const auto peer = static_cast<Rank>(get_number(bundle, at));
  const auto bytes = static_cast<std::size_t>(get_number(bundle, at));
  LANEWAY_ASSERT(bytes <= bundle.size() - at);
  const Record record{peer, std::span(bundle).subspan(at, bytes)};
  at += bytes;
  return record;
}

std::int64_t size_of(const Bytes& bytes) {
  return static_cast<std::int64_t>(bytes.size());
}

std::int64_t reserved(const Bytes& bytes) {
  return static_cast<std::int64_t>(bytes.capacity());
}

}  // namespace

/// Each way out has a bundle that is filled and those in flight; of each way in those in flight may be held here. All
/// ranks have bundles of the same length, as one holds what others fill.
Bag::Limits Bag::limits_of(const NodeMap& nodes, const Options& options) {
  // A rank of a small node stands there for several of a large one.
  const std::int64_t of_a_node = (nodes.largest() + nodes.smallest() - 1) / std::max(nodes.smallest(), Rank{1});
  const std::int64_t near = options.relays ? nodes.largest() - 1 : nodes.ranks() - 1;
  const std::int64_t far = options.relays ? nodes.nodes() - 1 : 0;
  const std::int64_t bundles = (1 + bundles_in_flight) * (near + far) + bundles_in_flight * (near + far * of_a_node);
  Limits limits;
  limits.bundle = std::clamp(options.memory / (2 * std::max(bundles, std::int64_t{1})), least_bundle, most_bundle);
  // What comes when there was room is one more.
  limits.inbox = std::max(options.memory / 2 - limits.bundle, limits.bundle);
  limits.kept = bundles * limits.bundle + limits.inbox + limits.bundle;
  return limits;
}

Bag::Tree Bag::tree_of(const NodeMap& nodes, Rank rank) {
  const Rank node = nodes.node_of(rank);
  const std::vector<Rank> members = nodes.members_of(node);
  if (rank != members.front()) return {{}, members.front()};
  Tree tree{{members.begin() + 1, members.end()}, std::nullopt};
  if (node != 0) tree.parent = nodes.leader_of((node - 1) / 2);
  for (std::int64_t child = 2 * std::int64_t{node} + 1; child <= 2 * std::int64_t{node} + 2; ++child)
    if (child < nodes.nodes()) tree.children.push_back(nodes.leader_of(static_cast<Rank>(child)));
  return tree;
}

Bag::Bag(BagMessenger& messenger, const NodeMap& nodes, const Options& options)
    : messenger_(messenger),
      limits_(limits_of(nodes, options)),
      tree_(tree_of(nodes, messenger.rank())),
      ways_(nodes, messenger.rank(), options.relays) {}

Bag::Ways::Ways(const NodeMap& nodes, Rank rank, bool relays)
    : nodes_(nodes), relays_(relays), node_(nodes.node_of(rank)), index_([&] {
        const std::vector<Rank> members = nodes.members_of(node_);
        return static_cast<std::size_t>(std::ranges::lower_bound(members, rank) - members.begin());
      }()) {}

Bag::Out& Bag::Ways::to(Rank destination) {
  const Rank node = nodes_.node_of(destination);
  const bool by_node = relays_ && node != node_;
  std::unique_ptr<Out>& out = outs_[by_node ? -1 - node : destination];
  if (!out) {
    out = std::make_unique<Out>();
    out->hop = destination;
    if (by_node) {
      const std::vector<Rank> members = nodes_.members_of(node);
      out->hop = members[index_ % members.size()];
      out->topic = BagTopic::lane;
    }
    all_.push_back(out.get());
  }
  return *out;
}

bool Bag::has_credit(const Out& out) const {
  return out.in_flight == 0 || out.in_flight + reserved(out.filling) <= bundles_in_flight * limits_.bundle;
}

void Bag::send_bundle(Out& out) {
  out.last = size_of(out.filling);
  if (reserved(out.filling) > 2 * (out.last + BagMessenger::appended_bytes)) {
    const std::int64_t before = reserved(out.filling);
    Bytes fitting;
    fitting.reserve(static_cast<std::size_t>(out.last + BagMessenger::appended_bytes));
    fitting.insert(fitting.end(), out.filling.begin(), out.filling.end());
    out.filling = std::move(fitting);
    count_memory(reserved(out.filling) - before);
  }
  const std::int64_t bytes = reserved(out.filling);
  out.left.push_back(bytes);
  out.in_flight += bytes;
  at(out.round).in_flight += bytes;
  ++counts_.bundles;
  messenger_.send(out.hop, {messenger_.rank(), out.topic, out.round, std::exchange(out.messages, 0),
                            std::exchange(out.filling, {})});
  out.forwards = false;
}

void Bag::count_memory(std::int64_t bytes) {
  kept_bytes_ += bytes;
  counts_.most_bytes = std::max(counts_.most_bytes, kept_bytes_);
}

/// For so many bytes more, and what is appended on the way; doubled, up to a bundle, so that bytes are moved seldom.
void Bag::make_room(Bytes& bytes, std::int64_t more) {
  const std::int64_t needed = size_of(bytes) + more + BagMessenger::appended_bytes;
  const std::int64_t before = reserved(bytes);
  if (needed <= before) return;
  bytes.reserve(static_cast<std::size_t>(std::max({needed, first_room, std::min(2 * before, limits_.bundle)})));
  count_memory(reserved(bytes) - before);
}

/// False where the bundle is full and has no credit.
bool Bag::append(Out& out, std::uint32_t round, Rank peer, std::span<const std::byte> data) {
  const std::int64_t bytes = static_cast<std::int64_t>(data.size() + header_bytes);
  if (!out.filling.empty() &&
      (out.round != round || size_of(out.filling) + bytes + BagMessenger::appended_bytes > limits_.bundle)) {
    if (!has_credit(out)) return false;
    send_bundle(out);
  }
  const std::int64_t likely = std::min(out.last, limits_.bundle - BagMessenger::appended_bytes);
  make_room(out.filling, out.filling.empty() ? std::max(bytes, likely) : bytes);
  put_record(out.filling, peer, data);
  out.round = round;
  ++out.messages;
  return true;
}

/// Of a message for this rank.
void Bag::keep(std::uint32_t round, Rank source, std::span<const std::byte> data) {
  std::deque<Item>& inbox = at(round).inbox;
  const std::int64_t bytes = static_cast<std::int64_t>(data.size() + header_bytes);
  if (inbox.empty() || !inbox.back().open ||
      size_of(inbox.back().data) + bytes + BagMessenger::appended_bytes > limits_.bundle) {
    inbox.emplace_back();
    inbox.back().open = true;
  }
  Bytes& into = inbox.back().data;
  const std::int64_t before = reserved(into);
  make_room(into, bytes);
  put_record(into, source, data);
  inbox_.bytes += reserved(into) - before;
  ++at(round).own.arrived;
}

bool Bag::try_send(Rank destination, std::span<const std::byte> data, bool waits) {
  const std::lock_guard inside(lock_);
  waits_ = waits;
  bool done = true;
  if (destination == messenger_.rank()) {
    done = takes();
    if (done) keep(flush_.round, destination, data);
  } else {
    Out& out = ways_.to(destination);
    const std::int64_t bundles = counts_.bundles;
    done = append(out, flush_.round, out.topic == BagTopic::lane ? destination : messenger_.rank(), data);
    if (counts_.bundles != bundles) progress();
  }
  if (done) {
    ++at(flush_.round).own.sent;
    ++counts_.sent;
  } else {
    push(true);
    progress();
  }
  waits_ = false;
  return done;
}

void Bag::progress() {
  while (std::optional<BagMessage> incoming = messenger_.take()) on_message(std::move(*incoming));
  // What comes from one rank stays in order.
  std::set<Rank> blocked;
  for (auto held = held_.begin(); held != held_.end();) {
    if (blocked.contains(held->incoming.source) || !deal_with(*held)) {
      blocked.insert(held->incoming.source);
      ++held;
    } else {
      held = held_.erase(held);
    }
  }
  push(false);
  if (flush_.is_active) advance_flush();
}

void Bag::on_message(BagMessage incoming) {
  Round& round = at(incoming.round);
  Reader reader(incoming.data);
  switch (incoming.topic) {
    case BagTopic::lane:
    case BagTopic::local:
      count_memory(reserved(incoming.data));
      round.held += size_of(incoming.data);
      held_.push_back({std::move(incoming), 0});
      return;
    case BagTopic::credit: {
      const auto out = std::ranges::find(ways_.all(), incoming.source, &Out::hop);
      LANEWAY_ASSERT(out != ways_.all().end() && !(*out)->left.empty());
      const std::int64_t bytes = (*out)->left.front();
      (*out)->left.erase((*out)->left.begin());
      (*out)->in_flight -= bytes;
      round.in_flight -= bytes;
      kept_bytes_ -= bytes;
      return;
    }
    case BagTopic::up: {
      const auto sums = reader.get<Sums>();
      round.children.sent += sums.sent;
      round.children.arrived += sums.arrived;
      ++round.children_reported;
      return;
    }
    case BagTopic::down:
      return send_down(incoming.round, reader.get<bool>());
  }
}

void Bag::give_credit(const BagMessage& incoming) {
  at(incoming.round).held -= size_of(incoming.data);
  messenger_.send(incoming.source, {messenger_.rank(), BagTopic::credit, incoming.round, 0, {}});
}

/// True when the bundle is no longer held here.
bool Bag::deal_with(Held& held) {
  BagMessage& incoming = held.incoming;
  if (incoming.topic == BagTopic::lane) {
    if (!hand_on(held)) return false;
    give_credit(incoming);
    kept_bytes_ -= reserved(incoming.data);
    return true;
  }
  if (!takes()) return false;
  give_credit(incoming);
  Round& round = at(incoming.round);
  round.own.arrived += incoming.messages;
  inbox_.bytes += reserved(incoming.data);
  round.inbox.push_back({std::move(incoming.data)});
  return true;
}

bool Bag::hand_on(Held& held) {
  const Bytes& bundle = held.incoming.data;
  while (held.at < bundle.size()) {
    std::size_t next = held.at;
    const Record record = get_record(bundle, next);
    if (record.peer == messenger_.rank()) {
      if (!takes()) return false;
      keep(held.incoming.round, held.incoming.source, record.data);
    } else {
      Out& out = ways_.to(record.peer);
      if (!append(out, held.incoming.round, held.incoming.source, record.data)) return false;
      out.forwards = true;
    }
    held.at = next;
  }
  return true;
}

/// Bundles that are not full leave too: all of them where this rank has nothing else to do, and those with messages of
/// others as soon as nothing is in flight on their way.
void Bag::push(bool all) {
  for (Out* const out : ways_.all()) {
    if (out->filling.empty()) continue;
    if (all ? has_credit(*out) : out->forwards && out->in_flight == 0) send_bundle(*out);
  }
}

std::optional<Bag::Message> Bag::next() {
  const std::lock_guard inside(lock_);
  if (++inbox_.looks % messages_between_looks == 0) progress();
  if (find_item()) return read();
  push(true);
  progress();
  if (find_item()) return read();
  if (inbox_.knows_end) inbox_.separates = false;
  return std::nullopt;
}

/// Something to read: of rounds that have ended, then, unless their end has still to be told, of the one that has not.
bool Bag::find_item() {
  if (inbox_.reading && inbox_.reading->at < inbox_.reading->data.size()) return true;
  if (inbox_.reading) {
    inbox_.bytes -= reserved(inbox_.reading->data);
    kept_bytes_ -= reserved(inbox_.reading->data);
    inbox_.reading.reset();
  }
  std::deque<Item>* const from = !inbox_.ready.empty() ? &inbox_.ready
                                 : inbox_.separates    ? nullptr
                                                       : &at(flush_.ended).inbox;
  if (from == nullptr || from->empty()) return false;
  inbox_.reading = std::move(from->front());
  from->pop_front();
  return true;
}

Bag::Message Bag::read() {
  const Record record = get_record(inbox_.reading->data, inbox_.reading->at);
  const std::size_t words = (record.data.size() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
  if (inbox_.aligned.size() < words + 1) {
    const auto bytes_of = [&] {
      return static_cast<std::int64_t>(inbox_.aligned.capacity() * sizeof(std::max_align_t));
    };
    const std::int64_t before = bytes_of();
    inbox_.aligned.resize(words + 1);
    count_memory(bytes_of() - before);
  }
  if (!record.data.empty()) std::memcpy(inbox_.aligned.data(), record.data.data(), record.data.size());
  return {record.peer, {reinterpret_cast<const std::byte*>(inbox_.aligned.data()), record.data.size()}};
}

bool Bag::begin_flush() {
  const std::lock_guard inside(lock_);
  if (flush_.is_active) return false;
  flush_.is_active = true;
  flush_.has_reported = inbox_.knows_end = false;
  ++flush_.round;
  push(true);
  progress();
  return true;
}

bool Bag::flushed() {
  const std::lock_guard inside(lock_);
  if (flush_.is_active) {
    push(true);
    progress();
  }
  inbox_.knows_end = !flush_.is_active;
  return inbox_.knows_end;
}

/// Nothing of the round is on its way from here, as far as this rank knows. Only spares waves: the sums decide.
bool Bag::is_idle(std::uint32_t round) {
  if (at(round).in_flight > 0 || at(round).held > 0) return false;
  return std::ranges::none_of(ways_.all(),
                              [&](const Out* out) { return !out->filling.empty() && out->round == round; });
}

void Bag::advance_flush() {
  const std::uint32_t number = flush_.round - 1;
  Round& round = at(number);
  if (flush_.has_reported || round.children_reported < static_cast<Rank>(tree_.children.size()) || !is_idle(number))
    return;
  const Sums sums{round.own.sent + round.children.sent, round.own.arrived + round.children.arrived};
  round.children = {};
  round.children_reported = 0;
  flush_.has_reported = true;
  ++counts_.waves;
  if (!tree_.parent) return send_down(number, sums.sent == sums.arrived);
  Writer writer;
  writer.put(sums);
  messenger_.send(*tree_.parent, {messenger_.rank(), BagTopic::up, number, 0, writer.take()});
}

void Bag::send_down(std::uint32_t round, bool done) {
  LANEWAY_ASSERT(flush_.is_active && round == flush_.round - 1);
  for (const Rank child : tree_.children) {
    Writer writer;
    writer.put(done);
    messenger_.send(child, {messenger_.rank(), BagTopic::down, round, 0, writer.take()});
  }
  flush_.has_reported = false;
  if (done) end_flush();
}

void Bag::end_flush() {
  Round& round = at(flush_.ended);
  std::ranges::move(round.inbox, std::back_inserter(inbox_.ready));
  round.inbox.clear();
  round.own = {};
  ++flush_.ended;
  flush_.is_active = false;
  inbox_.separates = true;
}

void Bag::help() {
  const std::unique_lock inside(lock_, std::try_to_lock);
  if (!inside) return;
  progress();
  for (Out* const out : ways_.all())
    if (!out->filling.empty() && out->in_flight == 0) send_bundle(*out);
}

bool Bag::quiet() {
  const std::lock_guard inside(lock_);
  progress();
  return std::ranges::all_of(ways_.all(), [](const Out* out) { return out->in_flight == 0 && out->filling.empty(); }) &&
         messenger_.all_sent();
}

Bag::Counts Bag::counts() {
  const std::lock_guard inside(lock_);
  return counts_;
}

}  // namespace laneway
