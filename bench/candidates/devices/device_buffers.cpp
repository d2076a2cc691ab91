#include "candidates/devices/device_buffers.hpp"

#include <CLI/CLI.hpp>
#include <vector>

#include "base/error.hpp"

namespace laneway::bench {

namespace {

constexpr std::size_t alignment = 256;

/// Where the receive buffer begins behind the send buffer.
std::size_t receive_offset(const Buffers& host) {
  const std::size_t end = host.send.size();
  const bool are_neighbors = host.send.data() + end == host.receive.data();
  return are_neighbors ? end : (end + alignment - 1) / alignment * alignment;
}

}  // namespace

void add_options(CLI::App& command, MemoryOptions& options) {
  command
      .add_option("--memory", options.memory,
                  "Where buffers are. Baselines then copy each edge's block by itself, or single elements with all "
                  "that is between them, before and after")
      ->check(CLI::IsMember({"host", "device", "managed"}))
      ->capture_default_str();
  command.add_option("--path", options.path, "The hint lnw_memory_path, for buffers on devices");
}

DeviceBuffers::DeviceBuffers(Device device, const Buffers& host, MemoryKind kind)
    : host_(host), memory_(device, receive_offset(host) + host.receive.size(), kind), stream_(device) {
  twins_ = {{memory_.data(), host.send.size()}, {memory_.data() + receive_offset(host), host.receive.size()}};
}

void DeviceBuffers::copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
  stream_.copy(to, from, bytes);
  stream_.synchronize();
}

void DeviceBuffers::bring() const {
  copy(twins_.send.data(), host_.send.data(), host_.send.size());
  copy(twins_.receive.data(), host_.receive.data(), host_.receive.size());
}

void DeviceBuffers::fetch() const {
  copy(host_.receive.data(), twins_.receive.data(), host_.receive.size());
}

void DeviceBuffers::stage_out(std::size_t offset, std::size_t bytes) const {
  copy(host_.send.data() + offset, twins_.send.data() + offset, bytes);
}

void DeviceBuffers::stage_in(std::size_t offset, std::size_t bytes) const {
  copy(twins_.receive.data() + offset, host_.receive.data() + offset, bytes);
}

std::optional<Device> device_of_rank(Rank rank) {
  const std::vector<Device> all = all_devices();
  if (all.empty()) return std::nullopt;
  return all[static_cast<std::size_t>(rank) % all.size()];
}

std::unique_ptr<DeviceBuffers> make_device_buffers(const Run& run, const Buffers& host, const MemoryOptions& options) {
  if (options.memory == "host") return nullptr;
  const MemoryKind kind = options.memory == "device" ? MemoryKind::device : MemoryKind::managed;
  const std::optional<Device> device = device_of_rank(run.rank);
  require(device.has_value(), ErrorKind::unsupported, [] {
    std::string text = "there is no device";
    for (const std::string& why : absent_device_plugins()) text += "; " + why;
    return text;
  });
  return std::make_unique<DeviceBuffers>(*device, host, kind);
}

}  // namespace laneway::bench
