#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/simulated.hpp"

namespace laneway {

/// Where a simulation has the blocks that it does not move. No other memory is there.
inline constexpr std::uintptr_t unmoved_begin = std::uintptr_t{1} << 45;
inline constexpr std::uintptr_t unmoved_end = std::uintptr_t{1} << 46;

/// Of no memory elsewhere than in a simulation without data.
inline bool is_unmoved(const void* where) {
  const auto address = reinterpret_cast<std::uintptr_t>(where);
  return simulated && address >= unmoved_begin && address < unmoved_end;
}

/// Whether blocks are moved: not in a simulation with LANEWAY_SIMULATION_DATA=0, which takes as much virtual time.
[[nodiscard]] bool moves_data();

struct ReleaseBlocks {
  std::size_t bytes = 0;

  void operator()(std::byte* data) const;
};

/// Memory for blocks of data, not initialized. Where these are not moved it is addresses only, which nobody should read
/// or write.
class BlockMemory {
 public:
  BlockMemory() = default;
  /// Throws std::bad_alloc.
  explicit BlockMemory(std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::span<std::byte> all() const { return {data_.get(), bytes_}; }

 private:
  std::unique_ptr<std::byte[], ReleaseBlocks> data_;
  std::size_t bytes_ = 0;
};

}  // namespace laneway
