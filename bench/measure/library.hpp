#pragma once

#include <string>

#include "core/json.hpp"

namespace laneway::bench {

/// Name and version, without what names the host that it was built on.
[[nodiscard]] std::string mpi_library();

/// For provenance: `mpi`, `mpi_standard`, and what was asked for of `transport`: variables that choose one, and MPICH's
/// device.
[[nodiscard]] Json describe_mpi();

}  // namespace laneway::bench
