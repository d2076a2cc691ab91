#include "preload/p2p/node_queues.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <mutex>

namespace laneway::interpose {

namespace {

constexpr std::size_t rounded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace

NodeQueues::NodeQueues(const SharedSegment& segment, int ranks, int nodes) : nodes_(nodes) {
  const std::size_t mailboxes = rounded(sizeof(Mailbox)) * static_cast<std::size_t>(ranks);
  const std::size_t outboxes = rounded(sizeof(Outbox) * static_cast<std::size_t>(nodes));
  const std::size_t words = rounded(sizeof(std::uint64_t) * (static_cast<std::size_t>(nodes) / 64 + 1));
  memory_ = segment.map(SharedSegment::header_bytes + mailboxes + outboxes + words + sizeof(std::atomic<int>));
  std::byte* const begin = memory_.get() + SharedSegment::header_bytes;
  mailboxes_ = reinterpret_cast<Mailbox*>(begin);
  outboxes_ = reinterpret_cast<Outbox*>(begin + mailboxes);
  nonempty_ = reinterpret_cast<std::atomic<std::uint64_t>*>(begin + mailboxes + outboxes);
  receiving_ = reinterpret_cast<std::atomic<int>*>(begin + mailboxes + outboxes + words);
}

double NodeQueues::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

NodeQueues::Place NodeQueues::put(int node, const Item& item, const std::byte* data, std::uint64_t last,
                                  Bundles& bundles) {
  Outbox& outbox = outboxes_[node];
  const std::lock_guard hold(outbox.held);
  if (outbox.filled == 0) {
    outbox.since = now();
    bits(node).fetch_or(std::uint64_t{1} << (node % 64));
  }
  std::memcpy(outbox.data + outbox.filled, &item, sizeof item);
  if (item.bytes > 0)
    std::memcpy(outbox.data + outbox.filled + sizeof item, data, static_cast<std::size_t>(item.bytes));
  outbox.filled += item.size();
  const std::uint64_t put = outbox.put.load(std::memory_order_relaxed) + 1;
  outbox.put.store(put, std::memory_order_relaxed);
  // A program that repeats itself puts as many entries between two of a stream as there are streams. A stream that has
  // several messages in a turn says too little, so the most counts until it has been less for two turns.
  if (const std::uint64_t turn = put - last; last != 0) {
    if (turn >= outbox.turn || ++outbox.lower > 2 * outbox.turn) {
      outbox.turn = turn;
      outbox.lower = 0;
    }
  }
  const bool ends_turn = outbox.turn != 0 && put - outbox.begun >= outbox.turn;
  if (ends_turn) outbox.begun = put;
  if (ends_turn || outbox.filled >= full_bytes) leave(outbox, node, bundles);
  return {node, put};
}

void NodeQueues::leave(Outbox& outbox, int node, Bundles& bundles) {
  Item first;
  std::memcpy(&first, outbox.data, sizeof first);
  bundles.leave({outbox.data, outbox.filled}, first.destination);
  outbox.filled = 0;
  bits(node).fetch_and(~(std::uint64_t{1} << (node % 64)));
  outbox.left.store(outbox.put.load(std::memory_order_relaxed), std::memory_order_release);
}

bool NodeQueues::has_left(const Place& place) const {
  return outboxes_[place.node].left.load(std::memory_order_acquire) >= place.position;
}

std::uint64_t NodeQueues::put_for(int node) const {
  return outboxes_[node].put.load(std::memory_order_relaxed);
}

void NodeQueues::flush(int node, Bundles& bundles) {
  Outbox& outbox = outboxes_[node];
  const std::unique_lock hold(outbox.held, std::try_to_lock);
  if (!hold || outbox.filled == 0) return;
  outbox.begun = outbox.put.load(std::memory_order_relaxed);
  leave(outbox, node, bundles);
}

bool NodeQueues::any_put() const {
  for (int word = 0; word <= nodes_ / 64; ++word)
    if (nonempty_[word].load(std::memory_order_relaxed) != 0) return true;
  return false;
}

void NodeQueues::for_each_older(double then, const std::function<void(int)>& visit) const {
  for (int word = 0; word <= nodes_ / 64; ++word)
    for (std::uint64_t set = nonempty_[word].load(std::memory_order_relaxed); set != 0; set &= set - 1) {
      const int node = 64 * word + std::countr_zero(set);
      // Another rank may be writing it; then it is looked at too early or too late once.
      if (std::atomic_ref<double>(outboxes_[node].since).load(std::memory_order_relaxed) < then) visit(node);
    }
}

bool NodeQueues::give(int rank, const std::byte* item, std::size_t bytes) {
  Mailbox& mailbox = mailboxes_[rank];
  const std::unique_lock hold(mailbox.giving, std::try_to_lock);
  const std::uint64_t given = mailbox.given.load(std::memory_order_relaxed);
  if (!hold || given - mailbox.taken.load(std::memory_order_acquire) + bytes > mailbox_bytes) return false;
  const std::size_t at = given % mailbox_bytes;
  const std::size_t first = std::min(bytes, mailbox_bytes - at);
  std::memcpy(mailbox.ring + at, item, first);
  std::memcpy(mailbox.ring, item + first, bytes - first);
  mailbox.given.store(given + bytes, std::memory_order_release);
  return true;
}

void NodeQueues::take_own(int rank, const std::function<void(const std::byte*)>& visit) {
  Mailbox& mailbox = mailboxes_[rank];
  const auto read = [&](std::uint64_t from, std::byte* to, std::size_t bytes) {
    const std::size_t at = from % mailbox_bytes;
    const std::size_t first = std::min(bytes, mailbox_bytes - at);
    std::memcpy(to, mailbox.ring + at, first);
    std::memcpy(to + first, mailbox.ring, bytes - first);
  };
  std::uint64_t taken = mailbox.taken.load(std::memory_order_relaxed);
  while (taken != mailbox.given.load(std::memory_order_acquire)) {
    Item item;
    read(taken, reinterpret_cast<std::byte*>(&item), sizeof item);
    entry_.resize(item.size());
    read(taken, entry_.data(), item.size());
    mailbox.taken.store(taken += item.size(), std::memory_order_release);
    visit(entry_.data());
  }
}

}  // namespace laneway::interpose
