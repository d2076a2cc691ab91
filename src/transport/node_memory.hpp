#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "core/types.hpp"

namespace laneway {

/// The memory that the ranks of a node share for one plan, as one of them sees it. Outlives the executors that are
/// bound to it, one after another: the count of exchanges goes on.
struct NodeMemory {
  struct Part {
    std::byte* window = nullptr;
    std::byte* staging = nullptr;
  };
  Part own;
  std::map<Rank, Part> peers;
  std::uint64_t exchange = 0;  ///< the number of the last one started; the first is 1
  std::int64_t bytes = 0;      ///< of the own part
  std::shared_ptr<void> mapping;
};

/// A word that one rank raises and others wait for. What was written before it was raised is seen by who sees it.
inline void raise(std::byte* word, std::uint64_t exchange) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).store(exchange, std::memory_order_release);
}
[[nodiscard]] inline std::uint64_t seen(std::byte* word) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
}

}  // namespace laneway
