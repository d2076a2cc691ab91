#include "algorithms/rendezvous/node_board.hpp"

#include <cstring>

namespace laneway {

namespace {

using Shared = std::atomic_ref<std::uint64_t>;
static_assert(Shared::is_always_lock_free);

}  // namespace

std::int64_t NodeBoard::bytes_of_rank() {
  return rounds_at_once * static_cast<std::int64_t>(sizeof(Slot)) + 2 * areas * most_bytes;
}

NodeBoard::Slot& NodeBoard::slot(std::size_t member, std::int64_t round) const {
  return reinterpret_cast<Slot*>(parts_[member])[round % rounds_at_once];
}

std::byte* NodeBoard::area(std::size_t member, std::int64_t round, bool of_first) const {
  const std::int64_t index = 2 * (round % areas) + (of_first ? 1 : 0);
  return parts_[member] + rounds_at_once * static_cast<std::int64_t>(sizeof(Slot)) + index * most_bytes;
}

bool NodeBoard::is_free(std::size_t member, std::int64_t round) const {
  for (std::int64_t before = round - areas; before >= 0 && before > round - rounds_at_once; before -= areas)
    if (Shared(slot(member, before).by_owner.completed).load(std::memory_order_acquire) <
        static_cast<std::uint64_t>(before + 1))
      return false;
  return true;
}

bool NodeBoard::write(Word& word, std::size_t member, std::int64_t round, bool of_first, const Bytes& data) {
  const bool fits = data.size() <= static_cast<std::size_t>(most_bytes) && is_free(member, round);
  if (fits && !data.empty()) std::memcpy(area(member, round, of_first), data.data(), data.size());
  word.bytes = data.size();
  Shared(word.word).store(2 * static_cast<std::uint64_t>(round + 1) + (fits ? 0 : 1), std::memory_order_release);
  return fits;
}

NodeBoard::Posted NodeBoard::read(Word& word, std::size_t member, std::int64_t round, bool of_first) const {
  const std::uint64_t value = Shared(word.word).load(std::memory_order_acquire);
  if (value / 2 != static_cast<std::uint64_t>(round + 1)) return {};
  if (value % 2 != 0) return {Form::message, {}};
  return {Form::memory, {area(member, round, of_first), static_cast<std::size_t>(word.bytes)}};
}

bool NodeBoard::say(std::int64_t round, const Bytes& data) {
  return write(slot(own_, round).by_owner.said, own_, round, false, data);
}

NodeBoard::Posted NodeBoard::said(std::size_t member, std::int64_t round) const {
  return read(slot(member, round).by_owner.said, member, round, false);
}

bool NodeBoard::put(std::size_t member, std::int64_t round, const Bytes& data) {
  return write(slot(member, round).by_first.scattered, member, round, true, data);
}

NodeBoard::Posted NodeBoard::scattered(std::int64_t round) const {
  return read(slot(own_, round).by_first.scattered, own_, round, true);
}

void NodeBoard::complete(std::int64_t round) {
  Shared(slot(own_, round).by_owner.completed).store(static_cast<std::uint64_t>(round + 1), std::memory_order_release);
}

}  // namespace laneway
