#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/carriers/bootstrap.hpp"
#include "runtime/carriers/device/ipc.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// A slot for each rank of a node, in memory of a device that the first of them has allocated.
class SharedSlots {
 public:
  /// Collective over the ranks of `node`, which all have that device.
  SharedSlots(Bootstrap& bootstrap, const Region& node, const Device& device, std::int64_t slot_bytes);

  /// Whether the memory could be allocated, and opened here.
  [[nodiscard]] bool is_there() const { return first_ != nullptr; }
  [[nodiscard]] std::int64_t slot_bytes() const { return slot_bytes_; }
  [[nodiscard]] std::byte* slot(std::size_t member) const {
    return first_ + static_cast<std::int64_t>(member) * slot_bytes_;
  }

 private:
  std::int64_t slot_bytes_;
  DeviceMemory memory_;  // of the first rank
  IpcMapping mapping_;   // of the others
  std::byte* first_ = nullptr;
};

}  // namespace laneway
