#pragma once

#include <laneway/device.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "settings.hpp"

namespace laneway::sim {

struct Allocation {
  lnw_memory_kind kind = LNW_MEMORY_DEVICE;
  int device = 0;
  std::byte* base = nullptr;     ///< as everybody knows it; for device memory, pages that nobody may touch
  std::size_t bytes = 0;         ///< as asked for
  std::size_t mapped_bytes = 0;  ///< whole pages; 0 of what was registered
  std::byte* accessible = nullptr;
  int descriptor = -1;  ///< of the memory that is mapped at `accessible`, where others can open it
  std::uint64_t buffer_id = 0;
  bool imported = false;
};

/// What this process knows of: the memory of devices, of the host where it is pinned, and of others where it was
/// opened.
class Memory {
 public:
  explicit Memory(const Settings& settings) : settings_(settings) {}

  /// All throw Failure.
  std::byte* allocate(lnw_memory_kind kind, int device, std::size_t bytes);
  /// `device_memory`: device or managed memory, else pinned memory of allocate().
  void free(void* pointer, bool device_memory);
  void pin(int device, void* pointer, std::size_t bytes);
  void unpin(void* pointer);

  /// Null if nothing is known of it.
  [[nodiscard]] std::shared_ptr<const Allocation> find(const void* pointer) const;
  /// Where the host can touch `bytes` bytes of any memory at `pointer`. Throws Failure if they leave their allocation,
  /// or are of device memory that was freed.
  [[nodiscard]] std::byte* accessible(const void* pointer, std::size_t bytes) const;

  void share(const void* pointer, lnw_ipc_memory* memory) const;
  std::byte* open(const lnw_ipc_memory& memory);
  void close(void* base);

  [[nodiscard]] std::size_t allocations() const;

 private:
  void show(const Allocation& allocation) const;
  std::byte* take_view(std::size_t bytes);
  void unmap(const Allocation& allocation);
  std::shared_ptr<Allocation> remove(void* pointer, const char* what);
  void add(Allocation allocation);

  const Settings& settings_;
  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, std::shared_ptr<Allocation>> allocations_;  // by base
  std::map<int, std::uint64_t> used_;                                    // by device
  /// Untouchable pages of freed device memory, by size: the next allocation of the size is there again, as a driver
  /// does it, and until then whoever touches them finds nobody's memory.
  std::map<std::size_t, std::vector<std::byte*>> views_;
  std::map<const std::byte*, std::size_t> freed_;
  std::uint64_t last_buffer_id_ = 0;
};

/// Memory that other processes can open, by number of the process and of the descriptor. Throws Failure.
[[nodiscard]] int make_shared(std::size_t bytes, std::uint64_t token);
[[nodiscard]] int open_shared(std::int64_t process, std::int64_t descriptor, std::uint64_t token);
[[nodiscard]] std::byte* map_shared(int descriptor, std::size_t bytes);
[[nodiscard]] std::uint64_t new_token();
/// Bytes at the beginning of shared memory that are not its user's: the token.
inline constexpr std::size_t shared_header_bytes = 4096;

/// Of a device of this machine, and of this host name.
void write_uuid(int device, unsigned char uuid[16]);

}  // namespace laneway::sim
