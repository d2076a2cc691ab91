#include "runtime/carriers/node/node_memory.hpp"

#include <algorithm>

#include "plan/plan.hpp"

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

}  // namespace laneway
