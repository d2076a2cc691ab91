#include "communicator/nodes/network_distance.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include "base/simulated.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

namespace {

hwloc_obj_t bus_device_of(hwloc_obj_t object) {
  while (object != nullptr && object->type != HWLOC_OBJ_PCI_DEVICE) object = object->parent;
  return object;
}

/// Slingshot's interfaces have no class of their own.
bool is_fast(hwloc_obj_t device) {
  return device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS ||
         (device->name != nullptr && std::string_view(device->name).starts_with("hsn"));
}

std::vector<hwloc_obj_t> interfaces_of(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> fast;
  std::vector<hwloc_obj_t> other;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device)) != nullptr;) {
    if (bus_device_of(device) == nullptr) continue;
    if (is_fast(device))
      fast.push_back(bus_device_of(device));
    else if (device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK)
      other.push_back(bus_device_of(device));
  }
  return fast.empty() ? other : fast;
}

NetworkDistance between(hwloc_topology_t topology, hwloc_obj_t interface, hwloc_const_cpuset_t processors) {
  const hwloc_obj_t local = hwloc_get_non_io_ancestor_obj(topology, interface);
  hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
  hwloc_cpuset_to_nodeset(topology, processors, nodes);
  const bool same_node = hwloc_bitmap_isincluded(nodes, local->nodeset) != 0;
  hwloc_bitmap_free(nodes);
  if (same_node) return NetworkDistance::same_numa_node;
  const hwloc_obj_t package =
      local->type == HWLOC_OBJ_PACKAGE ? local : hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, local);
  const bool same_package = package != nullptr && hwloc_bitmap_isincluded(processors, package->cpuset) != 0;
  return same_package ? NetworkDistance::same_package : NetworkDistance::same_machine;
}

/// Whether both are behind a bridge that is not the one of the host.
bool share_switch(hwloc_obj_t a, hwloc_obj_t b) {
  for (hwloc_obj_t over = a->parent; over != nullptr && over->type == HWLOC_OBJ_BRIDGE; over = over->parent) {
    if (over->attr->bridge.upstream_type != HWLOC_OBJ_BRIDGE_PCI) continue;
    for (hwloc_obj_t other = b->parent; other != nullptr; other = other->parent)
      if (other == over) return true;
  }
  return a == b;
}

template <class Between>
std::optional<NetworkDistance> nearest(hwloc_topology_t topology, Between&& to) {
  std::optional<NetworkDistance> least;
  for (hwloc_obj_t interface : interfaces_of(topology)) {
    const NetworkDistance distance = to(interface);
    if (!least || distance < *least) least = distance;
  }
  return least;
}

template <class F>
auto with_buses(F&& f) -> decltype(f(hwloc_topology_t{})) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return {};
  decltype(f(topology)) result{};
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(topology) == 0) result = f(topology);
  hwloc_topology_destroy(topology);
  return result;
}

std::optional<NetworkDistance> from_own_processors(hwloc_topology_t topology) {
  hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  std::optional<NetworkDistance> distance;
  if (hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) distance = distance_to_network(topology, bound);
  hwloc_bitmap_free(bound);
  return distance;
}

}  // namespace

std::optional<NetworkDistance> distance_to_network(hwloc_topology_t topology, hwloc_const_cpuset_t processors) {
  return nearest(topology, [&](hwloc_obj_t interface) { return between(topology, interface, processors); });
}

std::optional<NetworkDistance> distance_to_network(hwloc_topology_t topology, const lnw_device_info& device) {
  if (device.pci_bus < 0) return std::nullopt;
  const hwloc_obj_t found = hwloc_get_pcidev_by_busid(
      topology, static_cast<unsigned>(device.pci_domain), static_cast<unsigned>(device.pci_bus),
      static_cast<unsigned>(device.pci_device), static_cast<unsigned>(device.pci_function));
  if (found == nullptr) return std::nullopt;
  return nearest(topology, [&](hwloc_obj_t interface) {
    return share_switch(found, interface)
               ? NetworkDistance::same_switch
               : between(topology, interface, hwloc_get_non_io_ancestor_obj(topology, found)->cpuset);
  });
}

std::optional<NetworkDistance> distance_to_network(const lnw_device_info& device) {
  if (device.pci_bus < 0) return std::nullopt;
  return with_buses([&](hwloc_topology_t topology) { return distance_to_network(topology, device); });
}

bool has_network_devices() {
  static const bool known = [] {
    for (const char* const devices : {"/sys/class/infiniband", "/sys/class/cxi"}) {
      std::error_code none;
      if (std::filesystem::directory_iterator(devices, none) != std::filesystem::directory_iterator()) return true;
    }
    return false;
  }();
  return known;
}

int own_network_distance(const MemoryInfo& buffer) {
  const bool on_device = !buffer.host_may_touch();
  if (simulated || (!on_device && !has_network_devices())) return 0;
  const lnw_device_info device = on_device ? Device(buffer).info() : lnw_device_info{};
  if (on_device && device.pci_bus < 0) return 0;
  static std::mutex mutex;
  static std::map<std::tuple<bool, int, int, int, int>, int> known;
  const std::lock_guard lock(mutex);
  const std::tuple key(on_device, device.pci_domain, device.pci_bus, device.pci_device, device.pci_function);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  const std::optional<NetworkDistance> distance =
      on_device ? distance_to_network(device) : with_buses(from_own_processors);
  return known.emplace(key, distance ? static_cast<int>(*distance) : 0).first->second;
}

}  // namespace laneway
