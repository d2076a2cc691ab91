#include "runtime/carriers/device/ipc.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <tuple>

namespace laneway {

namespace {

struct Mapping {
  Device device;
  lnw_ipc_memory memory{};
  void* base = nullptr;

  Mapping(Device device_that_maps, const lnw_ipc_memory& opened) : device(device_that_maps), memory(opened) {
    const int status = device.table().ipc_memory_open(device.number(), &opened, &base);
    require(status != LNW_DEVICE_INVALID, ErrorKind::buffer, [&] {
      return "device memory of process " + std::to_string(opened.process) +
             " cannot be opened: " + device.table().message(status);
    });
    device.check(status, "open another process's memory");
  }
  ~Mapping() { device.table().ipc_memory_close(device.number(), base); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] bool same_place(Device by, const lnw_ipc_memory& other) const {
    return by == device && std::tie(memory.process, memory.process_began_at, memory.base) ==
                               std::tie(other.process, other.process_began_at, other.base);
  }
  /// Without a buffer id nothing else tells allocations apart.
  [[nodiscard]] bool same_buffer(const lnw_ipc_memory& other) const {
    return memory.buffer_id == other.buffer_id && memory.bytes == other.bytes &&
           (memory.buffer_id != 0 || std::memcmp(memory.handle, other.handle, sizeof other.handle) == 0);
  }
};

/// The mappings, the one used last in front. What leaves the list is closed by its last user.
class Cache {
 public:
  std::shared_ptr<Mapping> find_or_open(Device device, const lnw_ipc_memory& memory) {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto here = entry++;
      if (!(*here)->same_place(device, memory)) continue;
      if ((*here)->same_buffer(memory) && (memory.buffer_id != 0 || here->use_count() > 1)) {
        entries_.splice(entries_.begin(), entries_, here);
        return entries_.front();
      }
      entries_.erase(here);
    }
    make_room();
    entries_.push_front(std::make_shared<Mapping>(device, memory));
    return entries_.front();
  }

  void close_unused() {
    const std::lock_guard lock(mutex_);
    entries_.remove_if([](const std::shared_ptr<Mapping>& entry) { return entry.use_count() == 1; });
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  void make_room() {
    const std::size_t limit = read_limit();
    for (auto entry = entries_.end(); entries_.size() >= limit && entry != entries_.begin();) {
      --entry;
      if (entry->use_count() == 1) entry = entries_.erase(entry);
    }
  }

  static std::size_t read_limit() {
    const char* const text = std::getenv("LANEWAY_IPC_CACHE");
    if (text == nullptr || *text == '\0') return 64;
    char* end = nullptr;
    const long limit = std::strtol(text, &end, 10);
    require(*end == '\0' && limit >= 1, ErrorKind::info, [&] {
      return "LANEWAY_IPC_CACHE=" + std::string(text) + ": a number of mappings, at least 1, is expected";
    });
    return static_cast<std::size_t>(limit);
  }

  std::mutex mutex_;
  std::list<std::shared_ptr<Mapping>> entries_;
};

/// Never destroyed: when the process ends, the driver may be gone before.
Cache& cache() {
  static Cache* const cache = new Cache;
  return *cache;
}

}  // namespace

SharedDeviceMemory share_device_memory(const void* pointer) {
  const MemoryInfo memory = memory_at(pointer);
  require(memory.kind == MemoryKind::device, ErrorKind::unsupported, [&] {
    return std::string("only device memory can be shared with other processes, not ") + name(memory.kind);
  });
  SharedDeviceMemory shared;
  const DevicePlugin& plugin = *memory.plugin;
  plugin.check(plugin->ipc_memory_get(memory.device, pointer, &shared.memory), "share memory with other processes");
  std::strncpy(shared.vendor, plugin.vendor(), sizeof shared.vendor - 1);
  return shared;
}

IpcMapping::IpcMapping(Device device, const SharedDeviceMemory& shared) {
  require(std::strncmp(shared.vendor, device.plugin().vendor(), sizeof shared.vendor) == 0, ErrorKind::unsupported,
          [&] {
            return "memory of a device of " + std::string(shared.vendor) + " cannot be opened by one of " +
                   device.plugin().vendor();
          });
  if (shared.memory.process == getpid()) {
    pointer_ = reinterpret_cast<std::byte*>(shared.memory.base + shared.memory.offset);
    return;
  }
  std::shared_ptr<Mapping> mapping = cache().find_or_open(device, shared.memory);
  pointer_ = static_cast<std::byte*>(mapping->base) + shared.memory.offset;
  entry_ = std::move(mapping);
}

void close_unused_ipc_mappings() {
  cache().close_unused();
}

std::size_t open_ipc_mappings() {
  return cache().size();
}

}  // namespace laneway
