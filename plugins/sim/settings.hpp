#pragma once

#include <laneway/device.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"

namespace laneway::sim {

using plugin::Failure;

/// The time that moving bytes takes. Without one, as long as the host's copy takes.
struct Rate {
  double seconds = 0;           ///< for each operation
  double bytes_per_second = 0;  ///< 0: no limit
};

/// LANEWAY_SIM_DEVICE, docs/reference/devices.md.
struct Settings {
  int devices = 1;
  std::vector<int> buses;               ///< PCI buses, by device; may be empty
  std::vector<std::vector<int>> links;  ///< square
  std::vector<std::vector<int>> hops;   ///< -1: not joined by links
  double link_bytes_per_second = 50e9;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  std::uint32_t features =
      LNW_DEVICE_HAS_MANAGED | LNW_DEVICE_HAS_IPC_MEMORY | LNW_DEVICE_HAS_IPC_EVENTS | LNW_DEVICE_HAS_STREAM_VALUES;
  int device = 0;  ///< the current one of threads that have chosen none

  bool reorders = false;
  std::uint64_t seed = 0;
  double delay_seconds = 200e-6;  ///< the longest before and within a piece of work, where it reorders
  std::uint64_t drop = 0;         ///< the number, from 1, of the dependency that is not kept; 0: none
  std::uint64_t refuse = 0;       ///< of the pieces of work put from now on, the number, from 1, of the one refused
  Rate host_to_device, device_to_host, device_to_device, peer, kernel;

  /// Throws Failure that names the setting. `running`: only what may change while devices are in use.
  void read(std::string_view text, bool running);
};

}  // namespace laneway::sim
