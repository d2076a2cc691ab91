#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/device/plugin.hpp"

namespace laneway {

enum class MemoryKind : std::uint8_t { host, pinned, device, managed };

[[nodiscard]] const char* name(MemoryKind kind);

/// What is at an address, at the moment of asking.
struct MemoryInfo {
  MemoryKind kind = MemoryKind::host;
  const DevicePlugin* plugin = nullptr;  ///< whose memory it is; null of MemoryKind::host, like what follows
  int device = -1;                       ///< where it is, or, of host memory, whose context it was pinned in
  std::byte* base = nullptr;             ///< where its allocation or registration begins
  std::size_t bytes = 0;                 ///< of the whole of that
  std::uint64_t buffer_id = 0;           ///< of no other allocation of this process, ever; 0: unknown
  bool imported = false;                 ///< another process's memory, opened here

  [[nodiscard]] bool host_may_touch() const { return kind != MemoryKind::device; }
};

namespace memory_detail {
enum class Plugins : int { unknown, none, some };
inline std::atomic<Plugins> plugins{Plugins::unknown};
[[nodiscard]] MemoryInfo ask(const void* pointer);
}  // namespace memory_detail

/// Asks the plugins about an address; without plugins, one relaxed load. Nothing is remembered: memory may be freed and
/// come back as something else. Any address may be asked for. The first call loads the plugins.
[[nodiscard]] inline MemoryInfo memory_at(const void* pointer) {
  if (memory_detail::plugins.load(std::memory_order_relaxed) == memory_detail::Plugins::none) return {};
  return memory_detail::ask(pointer);
}

/// Whether memory_at can find anything but the host's. The first call loads the plugins.
[[nodiscard]] inline bool has_plugins() {
  (void)memory_at(nullptr);
  return memory_detail::plugins.load(std::memory_order_relaxed) != memory_detail::Plugins::none;
}

/// What a buffer argument is in, or Error(buffer) that says what is wrong with `what` ("the send buffer"): device
/// memory that was freed or whose plugin is not loaded (whatever the host cannot read and no plugin knows), or a buffer
/// that begins in one allocation of a device and does not end there. `begin` and `end` are the first and the byte after
/// the last that will be touched; nothing is checked if there are none. Costs up to two system calls where
/// may_have_devices(), so it is for init calls.
[[nodiscard]] MemoryInfo checked_memory_at(const void* begin, const void* end, const std::string& what);

/// Throws Error(buffer) if both are memory of a device and of different vendors, naming both.
void require_same_vendor(const MemoryInfo& a, const std::string& what_a, const MemoryInfo& b,
                         const std::string& what_b);

}  // namespace laneway
