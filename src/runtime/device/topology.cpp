#include "runtime/device/topology.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace laneway {

namespace {

template <class T, class Text>
std::string row(std::span<const T> values, Text text) {
  std::string line;
  for (const T& value : values) line += (line.empty() ? "[" : ", ") + text(value);
  return line + "]";
}

template <class T, class Text>
std::string rows(const std::vector<std::vector<T>>& matrix, const std::string& indent, Text text) {
  std::string lines;
  for (const std::vector<T>& values : matrix) lines += indent + row<T>(values, text) + ",\n";
  return lines;
}

const DevicePlugin* plugin_of(const DeviceIdentity& device) {
  for (const DevicePlugin& plugin : device_plugins())
    if (std::strncmp(plugin.vendor(), device.vendor.data(), device.vendor.size()) == 0) return &plugin;
  return nullptr;
}

}  // namespace

DeviceIdentity identity(const Device& device) {
  DeviceIdentity found;
  found.info = device.info();
  std::strncpy(found.vendor.data(), device.plugin().vendor(), found.vendor.size() - 1);
  return found;
}

std::optional<Device> current_device() {
  for (const DevicePlugin& plugin : device_plugins()) {
    if (all_devices(plugin).empty()) continue;
    int number = 0;
    plugin.check(plugin->current_device(&number), "ask for the current device");
    return Device(&plugin, number);
  }
  return std::nullopt;
}

DeviceTopology find_device_topology(std::span<const DeviceIdentity> devices) {
  const std::size_t size = devices.size();
  DeviceTopology topology{std::vector(size, std::vector<int>(size, 0)), std::vector(size, std::vector<int>(size, -1)),
                          std::vector(size, std::vector<double>(size, 0))};
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < size; ++b) {
      if (devices[a] == devices[b]) topology.hops[a][b] = 0;
      if (devices[a] == devices[b] || devices[a].vendor != devices[b].vendor) continue;
      const DevicePlugin* const plugin = plugin_of(devices[a]);
      if (plugin == nullptr) continue;
      lnw_device_link link{};
      const int status = (*plugin)->link(&devices[a].info, &devices[b].info, &link);
      if (status == LNW_DEVICE_UNSUPPORTED) continue;
      plugin->check(status, "find the links between two devices");
      topology.links[a][b] = link.links;
      topology.hops[a][b] = link.hops;
      topology.bytes_per_second[a][b] = link.bytes_per_second;
    }
  return topology;
}

std::string DeviceTopology::toml(std::span<const int> network_distance) const {
  const auto number = [](int value) { return std::to_string(value); };
  const auto gigabytes = [](double value) { return std::to_string(std::lround(value * 1e-9)); };
  const std::string distances =
      network_distance.empty() ? "" : "network_distance = " + row(network_distance, number) + "\n";
  return "[devices]\nlinks = [\n" + rows(links, "  ", number) + "]\n" + distances + "# hops:\n" +
         rows(hops, "#   ", number) + "# GB/s:\n" + rows(bytes_per_second, "#   ", gigabytes);
}

}  // namespace laneway
