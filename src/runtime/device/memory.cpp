#include "runtime/device/memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace laneway {

namespace {

std::string text(const void* pointer) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%p", pointer);
  return digits;
}

std::string describe(const MemoryInfo& memory) {
  if (memory.kind == MemoryKind::host) return "host memory";
  return std::string(name(memory.kind)) + " memory of " + memory.plugin->vendor() + " device " +
         std::to_string(memory.device);
}

/// False only if the system says that the host cannot read there.
bool readable(const void* pointer) {
  char byte;
  const iovec to = {&byte, 1};
  const iovec from = {const_cast<void*>(pointer), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

std::string plugin_list() {
  std::string list;
  for (const DevicePlugin& plugin : device_plugins()) list += (list.empty() ? "" : ", ") + std::string(plugin.vendor());
  return list.empty() ? "none" : list;
}

}  // namespace

const char* name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host:
      return "host";
    case MemoryKind::pinned:
      return "pinned";
    case MemoryKind::device:
      return "device";
    case MemoryKind::managed:
      return "managed";
  }
  return "unknown";
}

MemoryInfo memory_detail::ask(const void* pointer) {
  const std::span<const DevicePlugin> all = device_plugins();
  plugins.store(all.empty() ? Plugins::none : Plugins::some, std::memory_order_relaxed);
  if (pointer == nullptr) return {};
  for (const DevicePlugin& plugin : all) {
    lnw_device_memory found{};
    plugin.check(plugin->memory_at(pointer, &found), "look at an address");
    if (found.kind == LNW_MEMORY_HOST) continue;
    return {
        static_cast<MemoryKind>(found.kind),   &plugin,         found.device,       static_cast<std::byte*>(found.base),
        static_cast<std::size_t>(found.bytes), found.buffer_id, found.imported != 0};
  }
  return {};
}

MemoryInfo checked_memory_at(const void* begin, const void* end, const std::string& what) {
  if (begin == end) return {};
  const MemoryInfo memory = memory_at(begin);
  const void* const last = static_cast<const std::byte*>(end) - 1;
  if (memory.kind == MemoryKind::device || memory.kind == MemoryKind::managed) {
    require(last < memory.base + memory.bytes, ErrorKind::buffer, [&] {
      return what + " from " + text(begin) + " to " + text(end) + " leaves the " + std::to_string(memory.bytes) +
             " bytes at " + text(memory.base) + " that are " + describe(memory);
    });
    return memory;
  }
  if (!may_have_devices()) return memory;
  const MemoryInfo there = memory_at(last);
  require(there.host_may_touch(), ErrorKind::buffer, [&] {
    return what + " begins at " + text(begin) + " in " + describe(memory) + " and ends at " + text(end) + " in " +
           describe(there);
  });
  for (const void* const place : {begin, last})
    require(readable(place), ErrorKind::buffer, [&] {
      return what + ": the host cannot read at " + text(place) + ", and no device plugin (loaded: " + plugin_list() +
             ") knows what is there: device memory that was freed, or whose plugin is not loaded?";
    });
  return memory;
}

void require_same_vendor(const MemoryInfo& a, const std::string& what_a, const MemoryInfo& b,
                         const std::string& what_b) {
  require(a.plugin == nullptr || b.plugin == nullptr || a.plugin == b.plugin, ErrorKind::buffer, [&] {
    return what_a + " is " + describe(a) + ", and " + what_b + " is " + describe(b) +
           ": one exchange cannot use devices of two vendors";
  });
}

}  // namespace laneway
