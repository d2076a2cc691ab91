#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"

namespace laneway {

/// A device as all processes of its node know it, whichever numbers it has in them. A plain value, to be sent to
/// others.
struct DeviceIdentity {
  lnw_device_info info{};
  std::array<char, 16> vendor{};

  friend bool operator==(const DeviceIdentity& a, const DeviceIdentity& b) {
    return a.vendor == b.vendor && std::equal(std::begin(a.info.uuid), std::end(a.info.uuid), std::begin(b.info.uuid));
  }
};

[[nodiscard]] DeviceIdentity identity(const Device& device);

/// The device that the calling thread has chosen, of the first plugin that has any; none where no plugin has. Starts
/// the vendor's driver.
[[nodiscard]] std::optional<Device> current_device();

/// What joins the devices of a node, as square matrices: T_l and T_h of "Design of neighborhood collectives for ROCm".
struct DeviceTopology {
  std::vector<std::vector<int>> links;                ///< direct links between two devices
  std::vector<std::vector<int>> hops;                 ///< 0 to itself; -1: no way over links
  std::vector<std::vector<double>> bytes_per_second;  ///< in one direction; 0: unknown

  /// The section `[devices]` of a machine file (docs/reference/machine-files.md), which takes the place of a real node
  /// in tests and elsewhere. Bandwidths and hops are comments: hops follow from links. `network_distance` is of each
  /// device, or empty.
  [[nodiscard]] std::string toml(std::span<const int> network_distance = {}) const;
};

/// Asks the vendor's management library. Where that is missing, and between devices of different vendors, there are no
/// links. Devices need not be visible in this process.
[[nodiscard]] DeviceTopology find_device_topology(std::span<const DeviceIdentity> devices);

}  // namespace laneway
