#include "runtime/carriers/node/node_memory.hpp"

#include <utility>

#include "base/process/ended.hpp"

namespace laneway {

std::optional<Reached> NodeMemory::reach(const Operand& operand, Rank peer) const {
  if (operand.buffer != Buffer::window && operand.buffer != Buffer::staging) return std::nullopt;
  const auto found = peers.find(peer);
  if (found == peers.end()) return std::nullopt;
  std::byte* Part::*const part = operand.buffer == Buffer::window ? &Part::window : &Part::staging;
  std::byte* const other = found->second.*part;
  return operand.of_peer ? Reached{other, own.*part} : Reached{own.*part, other};
}

std::byte* NodeMemory::words_of(Rank peer) const {
  const auto found = peers.find(peer);
  return found != peers.end() ? found->second.window : nullptr;
}

std::optional<Rank> NodeMemory::find_ended(const std::function<bool(Rank)>& is_asked_for) const {
  for (const auto& [rank, part] : peers)
    if (is_asked_for(rank) && has_ended(part.process)) return rank;
  return std::nullopt;
}

std::int64_t NodeMemory::metadata_bytes() const {
  return static_cast<std::int64_t>(sizeof *this + peers.size() * sizeof *peers.begin());
}

std::vector<std::byte*> NodeMemory::windows() const {
  std::vector<std::byte*> all;
  for (const auto& [rank, part] : peers) all.push_back(part.window);
  return all;
}

std::shared_ptr<PlanMemory> plan_memory(std::shared_ptr<NodeMemory> node) {
  auto memory = std::make_shared<PlanMemory>();
  memory->window = memory->words = node->own.window;
  memory->staging = node->own.staging;
  memory->parts.push_back(std::move(node));
  return memory;
}

}  // namespace laneway
