#pragma once

#include <laneway/device.h>

#include <optional>
#include <string>

#include "base/json.hpp"

namespace laneway::bench {

/// Name and version, without what names the host that it was built on. Null in programs without MPI.
[[nodiscard, gnu::weak]] std::string mpi_library();

/// How far the nearest network interface is from a device, if that is known. Null in programs without MPI.
[[nodiscard, gnu::weak]] std::optional<int> network_distance(const lnw_device_info& device);

/// For provenance: `mpi`, `mpi_standard`, and what was asked for of `transport`: variables that choose one, and MPICH's
/// device.
[[nodiscard]] Json describe_mpi();

}  // namespace laneway::bench
