#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes/types.hpp"
#include "runtime/carriers/memory.hpp"

namespace laneway {

/// The windows and staging memory that the ranks of a node share, as one of them sees them.
class NodeMemory final : public CarrierMemory {
 public:
  struct Part {
    std::byte* window = nullptr;  ///< the rank's words are at its beginning
    std::byte* staging = nullptr;
    std::int64_t process = 0;  ///< of the rank; 0: not known
  };

  [[nodiscard]] std::optional<Reached> reach(const Operand& operand, Rank peer) const override;
  [[nodiscard]] std::byte* words_of(Rank peer) const override;
  void pin(const Device& device) override {
    if (mapping) mapping->pin(device);
  }
  [[nodiscard]] std::int64_t metadata_bytes() const override;
  /// Of all ranks of the node, in their order.
  [[nodiscard]] std::vector<std::byte*> windows() const;
  [[nodiscard]] std::optional<Rank> find_ended(const std::function<bool(Rank)>& is_asked_for) const override;

  Part own;
  std::map<Rank, Part> peers;  ///< all ranks of the node
  std::shared_ptr<SharedMemory> mapping;
};

/// What a plan has whose carrier has made this alone.
[[nodiscard]] std::shared_ptr<PlanMemory> plan_memory(std::shared_ptr<NodeMemory> node);

}  // namespace laneway
