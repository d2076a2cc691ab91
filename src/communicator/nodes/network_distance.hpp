#pragma once

#include <hwloc.h>

#include <optional>

#include "runtime/device/memory.hpp"

namespace laneway {

/// How far a network interface is from a device or from processors: what both are behind.
enum class NetworkDistance : int { same_switch, same_numa_node, same_package, same_machine };

/// To the nearest interface of InfiniBand or Slingshot or, where the topology has none, of any other network on a bus.
/// Nothing if it has none at all, or not the device. The topology must have been loaded with I/O objects.
[[nodiscard]] std::optional<NetworkDistance> distance_to_network(hwloc_topology_t topology,
                                                                 const lnw_device_info& device);
[[nodiscard]] std::optional<NetworkDistance> distance_to_network(hwloc_topology_t topology,
                                                                 hwloc_const_cpuset_t processors);

/// The same on this machine, as hwloc finds it.
[[nodiscard]] std::optional<NetworkDistance> distance_to_network(const lnw_device_info& device);

/// Whether the system knows a device of InfiniBand or Slingshot.
[[nodiscard]] bool has_network_devices();

/// The distance from the device that a buffer of this process is in or, for a host's buffer, from the processors that
/// the process is bound to; 0 if nothing is known. Asks hwloc, once for each device, and for processors only where
/// has_network_devices.
[[nodiscard]] int own_network_distance(const MemoryInfo& buffer);

}  // namespace laneway
