#include "runtime/carriers/memory.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "mpi/ended_class.hpp"
#include "runtime/carriers/node/shared_segment.hpp"

namespace laneway {

void SharedMemory::pin(const Device& device) {
  if (pinned_.contains(&device.plugin())) return;
  pinned_.try_emplace(&device.plugin(), HostRegistration(device, memory_.get(), bytes_));
}

void StagingArena::add_readers(const std::vector<Rank>& ranks) {
  std::size_t count = count_.load(std::memory_order_relaxed);
  for (Rank rank : ranks) {
    std::byte* const words = parts_.at(rank).words;
    const auto end = readers_.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(readers_.begin(), end, words) == end) readers_[count++] = words;
  }
  count_.store(count, std::memory_order_release);
}

void StagingArena::reserve(std::int64_t bytes) const {
  if (pages_.segment) pages_.segment->reserve(pages_.begin, static_cast<std::size_t>(bytes));
}

bool StagingArena::ready(std::uint64_t exchange, std::uint64_t lag) const {
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i)
    if (seen(readers_[i] + completed_word) + 1 + lag < exchange) return false;
  return true;
}

std::optional<Reached> PlanMemory::reach(const Operand& operand, Rank peer) const {
  if (arena && operand.buffer == Buffer::staging) {
    const auto other = arena->parts().find(peer);
    if (other == arena->parts().end()) return std::nullopt;
    return operand.of_peer ? Reached{other->second.staging, staging} : Reached{staging, other->second.staging};
  }
  for (const std::shared_ptr<CarrierMemory>& part : parts)
    if (const std::optional<Reached> reached = part->reach(operand, peer)) return reached;
  return std::nullopt;
}

std::byte* PlanMemory::words_of(Rank peer) const {
  if (arena) return arena->parts().at(peer).words;
  for (const std::shared_ptr<CarrierMemory>& part : parts)
    if (std::byte* const found = part->words_of(peer)) return found;
  return nullptr;
}

void PlanMemory::pin(const Device& device) {
  for (const std::shared_ptr<CarrierMemory>& part : parts) part->pin(device);
  if (arena) arena->pin(device);
}

std::int64_t PlanMemory::metadata_bytes() const {
  auto bytes = static_cast<std::int64_t>(sizeof *this);
  for (const std::shared_ptr<CarrierMemory>& part : parts) bytes += part->metadata_bytes();
  return bytes;
}

void use_arena(PlanMemory& memory, std::shared_ptr<StagingArena> arena) {
  memory.staging = arena->own().staging;
  memory.words = arena->own().words;
  memory.arena = std::move(arena);
}

void throw_ended(Rank rank) {
  throw Error(ErrorKind::mpi,
              "rank " + std::to_string(rank) + ", with which this one shares memory of the node, has ended",
              class_of_ended_process());
}

void PlanMemory::require_all_running() const {
  // Who has completed it may have left since.
  const auto is_in_exchange = [this](Rank rank) {
    if (arena && !arena->parts().contains(rank)) return false;
    std::byte* const others = words_of(rank);
    if (others != nullptr && seen(others + failed_word) == exchange)
      throw Error(ErrorKind::mpi, "rank " + std::to_string(rank) + " has given up, since a process has ended",
                  class_of_ended_process());
    return others != nullptr && seen(others + completed_word) < exchange;
  };
  for (const std::shared_ptr<CarrierMemory>& part : parts)
    if (const std::optional<Rank> ended = part->find_ended(is_in_exchange))
      if (is_in_exchange(*ended)) throw_ended(*ended);
}

void PlanMemory::give_up(const std::exception_ptr& failure) const {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (is_of_ended_process(error.mpi_class())) raise(words + failed_word, exchange);
  } catch (...) {
  }
}

}  // namespace laneway
