// Links between devices, by AMD's management library, which is found at run time: its init prints where there is no
// GPU.
#include <dlfcn.h>
#include <rocm_smi/rocm_smi.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "api.hpp"

namespace laneway::gpu::api {

namespace {

struct Smi {
  decltype(&::rsmi_init) init = nullptr;
  decltype(&::rsmi_num_monitor_devices) count = nullptr;
  decltype(&::rsmi_dev_pci_id_get) pci_id = nullptr;
  decltype(&::rsmi_topo_get_link_type) link_type = nullptr;
  decltype(&::rsmi_topo_get_link_weight) link_weight = nullptr;
  decltype(&::rsmi_minmax_bandwidth_get) bandwidth = nullptr;
  bool usable = false;

  Smi() {
    void* library = nullptr;
    for (const char* const name :
         {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1", "librocm_smi64.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    usable = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      usable = usable && function != nullptr;
    };
    find(init, "rsmi_init");
    find(count, "rsmi_num_monitor_devices");
    find(pci_id, "rsmi_dev_pci_id_get");
    find(link_type, "rsmi_topo_get_link_type");
    find(link_weight, "rsmi_topo_get_link_weight");
    find(bandwidth, "rsmi_minmax_bandwidth_get");
    usable = usable && init(0) == RSMI_STATUS_SUCCESS;
  }
};

std::optional<std::uint32_t> find_device(const Smi& smi, const lnw_device_info& info) {
  std::uint32_t devices = 0;
  if (smi.count(&devices) != RSMI_STATUS_SUCCESS) return std::nullopt;
  for (std::uint32_t device = 0; device < devices; ++device) {
    std::uint64_t id = 0;
    // Bits 32 to 63 are the domain, 8 to 15 the bus, 3 to 7 the device; partitions may be in between.
    if (smi.pci_id(device, &id) == RSMI_STATUS_SUCCESS && static_cast<std::int64_t>(id >> 32) == info.pci_domain &&
        static_cast<int>((id >> 8) & 0xFF) == info.pci_bus && static_cast<int>((id >> 3) & 0x1F) == info.pci_device)
      return device;
  }
  return std::nullopt;
}

}  // namespace

bool find_link(const lnw_device_info& a, const lnw_device_info& b, lnw_device_link* link) {
  static const Smi smi;
  if (!smi.usable) return false;
  const auto from = find_device(smi, a);
  const auto to = find_device(smi, b);
  if (!from || !to) return false;
  *link = {0, -1, 0, 0};
  if (*from == *to) return true;
  RSMI_IO_LINK_TYPE type = RSMI_IOLINK_TYPE_UNDEFINED;
  std::uint64_t reported_hops = 0;
  if (smi.link_type(*from, *to, &reported_hops, &type) != RSMI_STATUS_SUCCESS || type != RSMI_IOLINK_TYPE_XGMI)
    return true;
  // The library reports one hop for any two devices that xGMI joins, however far. The weight is 15 a hop, and there is
  // a bandwidth between neighbours only (hwloc issue 775, rocm-systems issue 5763): of one link, and of all, in MB/s.
  std::uint64_t weight = 0;
  std::uint64_t of_one = 0;
  std::uint64_t of_all = 0;
  const bool is_direct = smi.bandwidth(*from, *to, &of_one, &of_all) == RSMI_STATUS_SUCCESS && of_all > 0;
  constexpr std::uint64_t weight_of_hop = 15;
  if (smi.link_weight(*from, *to, &weight) == RSMI_STATUS_SUCCESS && weight > 0)
    link->hops = static_cast<int>(std::max<std::uint64_t>(weight / weight_of_hop, 1));
  if (is_direct) link->hops = 1;
  if (link->hops != 1) return true;
  link->links = of_one > 0 ? static_cast<int>(std::max<std::uint64_t>(of_all / of_one, 1)) : 1;
  link->bytes_per_second = static_cast<double>(of_all) * 1e6;
  return true;
}

}  // namespace laneway::gpu::api
