#include "measure/library.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/json.hpp"
#include "communicator/nodes/network_distance.hpp"

namespace laneway::bench {

namespace {

std::string library_text() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string all = text.data();
  std::ranges::replace(all, '\t', ' ');
  return all;
}

/// `ch4:ucx` of MPICH's line `MPICH Device: ch4:ucx`.
std::string device_line(const std::string& text) {
  constexpr std::string_view label = "Device:";
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return {};
  const std::size_t begin = text.find_first_not_of(' ', at + label.size());
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

std::string mpi_library() {
  const std::string text = library_text();
  return text.substr(0, text.find_first_of(",\n"));
}

std::optional<int> network_distance(const lnw_device_info& device) {
  const std::optional<NetworkDistance> distance = distance_to_network(device);
  return distance ? std::optional(static_cast<int>(*distance)) : std::nullopt;
}

Json describe_mpi() {
  Json transport = Json::object();
  for (const char* name : {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_mtl", "UCX_TLS", "UCX_NET_DEVICES", "FI_PROVIDER",
                           "MPIR_CVAR_CH4_NETMOD", "I_MPI_FABRICS", "I_MPI_OFI_PROVIDER", "PSM3_DEVICES"})
    if (const char* value = std::getenv(name)) transport[name] = value;
  if (const std::string device = device_line(library_text()); !device.empty()) transport["device"] = device;
  int version = 0;
  int subversion = 0;
  MPI_Get_version(&version, &subversion);
  return {{"mpi", mpi_library()},
          {"mpi_standard", std::to_string(version) + "." + std::to_string(subversion)},
          {"transport", transport}};
}

}  // namespace laneway::bench
