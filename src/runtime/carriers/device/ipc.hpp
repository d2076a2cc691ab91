#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/device/device.hpp"

namespace laneway {

/// Device memory, to be sent to other processes of the node, a plain value. `vendor` is that of its plugin.
struct SharedDeviceMemory {
  lnw_ipc_memory memory{};
  char vendor[16] = {};
};

/// Of the allocation that `pointer` is in. Throws Error(unsupported) if its device cannot share it.
[[nodiscard]] SharedDeviceMemory share_device_memory(const void* pointer);

/// Another process's device memory, addressable here while the object lives. In its own process, the pointer itself.
///
/// Opening costs up to milliseconds, so mappings are shared and kept for later, by (process, base address, buffer id).
/// A mapping that nobody uses is closed when the same address of that process turns up with another buffer id (the
/// memory was freed, and the address taken again), or to make room (LANEWAY_IPC_CACHE, 64 mappings unless set). One in
/// use stays as it is, next to the new one. As long as it is kept, memory that its process frees is not really free.
class IpcMapping {
 public:
  IpcMapping() = default;
  /// `device` is the one that will address it. Throws Error(buffer) if the memory was freed or its process has ended,
  /// Error(unsupported) if this device cannot address it, or no plugin of its vendor is loaded here.
  IpcMapping(Device device, const SharedDeviceMemory& shared);

  [[nodiscard]] explicit operator bool() const { return pointer_ != nullptr; }
  /// What share_device_memory was asked for.
  [[nodiscard]] std::byte* data() const { return pointer_; }

 private:
  std::shared_ptr<void> entry_;
  std::byte* pointer_ = nullptr;
};

/// Closes what nobody uses. For a process that is about to give memory back to others.
void close_unused_ipc_mappings();
[[nodiscard]] std::size_t open_ipc_mappings();

}  // namespace laneway
