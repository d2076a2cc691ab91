// Links between devices, by NVIDIA's management library, which is found at run time. Its header comes with few
// toolkits: these are its declarations, which have not changed since NVLink was added.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "api.hpp"

namespace laneway::gpu::api {

namespace {

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
using Handle = void*;
constexpr unsigned most_links = 18;
constexpr unsigned remote_is_switch = 2;

struct Nvml {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Handle*) = nullptr;
  int (*pci)(Handle, PciInfo*) = nullptr;
  int (*link_state)(Handle, unsigned, unsigned*) = nullptr;
  int (*link_version)(Handle, unsigned, unsigned*) = nullptr;
  int (*remote_pci)(Handle, unsigned, PciInfo*) = nullptr;
  int (*remote_type)(Handle, unsigned, unsigned*) = nullptr;  ///< not in old ones
  bool usable = false;

  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    usable = true;
    const auto find = [&](auto& function, const char* name, bool needed = true) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      usable = usable && (function != nullptr || !needed);
    };
    find(init, "nvmlInit_v2");
    find(count, "nvmlDeviceGetCount_v2");
    find(by_index, "nvmlDeviceGetHandleByIndex_v2");
    find(pci, "nvmlDeviceGetPciInfo_v3");
    find(link_state, "nvmlDeviceGetNvLinkState");
    find(link_version, "nvmlDeviceGetNvLinkVersion");
    find(remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    find(remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType", false);
    usable = usable && init() == 0;
  }
};

struct Place {
  unsigned domain, bus, device;
  friend bool operator==(const Place&, const Place&) = default;
};

struct Topology {
  std::vector<Place> places;
  std::vector<std::vector<int>> links, hops;
  std::vector<double> bytes_per_second;  ///< of one link of the device, in one direction
};

/// NVIDIA's figures for a link of each version: NVLink 1 to 5, in one direction.
double link_bytes_per_second(unsigned version) {
  constexpr std::array rates = {0.0, 20e9, 25e9, 25e9, 25e9, 50e9};
  return rates[std::min<std::size_t>(version, rates.size() - 1)];
}

Topology read_topology(const Nvml& nvml) {
  Topology topology;
  unsigned devices = 0;
  if (nvml.count(&devices) != 0) return topology;
  std::vector<Handle> handles;
  for (unsigned i = 0; i < devices; ++i) {
    Handle handle = nullptr;
    PciInfo pci{};
    if (nvml.by_index(i, &handle) != 0 || nvml.pci(handle, &pci) != 0) continue;
    handles.push_back(handle);
    topology.places.push_back({pci.domain, pci.bus, pci.device});
  }
  const std::size_t size = handles.size();
  topology.links.assign(size, std::vector<int>(size, 0));
  topology.bytes_per_second.assign(size, 0);
  std::vector<int> to_switch(size, 0);
  for (std::size_t a = 0; a < size; ++a)
    for (unsigned link = 0; link < most_links; ++link) {
      unsigned active = 0;
      if (nvml.link_state(handles[a], link, &active) != 0 || active == 0) continue;
      unsigned version = 0;
      if (nvml.link_version(handles[a], link, &version) == 0)
        topology.bytes_per_second[a] = link_bytes_per_second(version);
      unsigned type = 0;
      if (nvml.remote_type != nullptr && nvml.remote_type(handles[a], link, &type) == 0 && type == remote_is_switch) {
        ++to_switch[a];
        continue;
      }
      PciInfo remote{};
      if (nvml.remote_pci(handles[a], link, &remote) != 0) continue;
      for (std::size_t b = 0; b < size; ++b)
        if (topology.places[b] == Place{remote.domain, remote.bus, remote.device}) ++topology.links[a][b];
    }
  // Through switches all are one hop apart, with all links that both have.
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < size; ++b)
      if (a != b) topology.links[a][b] += std::min(to_switch[a], to_switch[b]);
  topology.hops = plugin::count_hops(topology.links);
  return topology;
}

}  // namespace

bool find_link(const lnw_device_info& a, const lnw_device_info& b, lnw_device_link* link) {
  static const Nvml nvml;
  if (!nvml.usable) return false;
  static const Topology topology = read_topology(nvml);
  const auto find = [](const lnw_device_info& info) {
    const Place place{static_cast<unsigned>(info.pci_domain), static_cast<unsigned>(info.pci_bus),
                      static_cast<unsigned>(info.pci_device)};
    std::size_t at = 0;
    while (at < topology.places.size() && !(topology.places[at] == place)) ++at;
    return at;
  };
  const std::size_t from = find(a);
  const std::size_t to = find(b);
  if (from == topology.places.size() || to == topology.places.size()) return false;
  link->links = topology.links[from][to];
  link->hops = topology.hops[from][to];
  const double one = std::min(topology.bytes_per_second[from], topology.bytes_per_second[to]);
  link->bytes_per_second = link->hops == 1 ? one * link->links : link->hops > 1 ? one : 0;
  return true;
}

}  // namespace laneway::gpu::api
