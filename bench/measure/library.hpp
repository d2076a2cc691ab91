#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace laneway::bench {

/// Name and version, without what names the host that it was built on.
[[nodiscard]] std::string mpi_library();

/// For provenance: `mpi`, `mpi_standard`, and what was asked for of `transport`: variables that choose one, and MPICH's
/// device.
[[nodiscard]] nlohmann::ordered_json describe_mpi();

}  // namespace laneway::bench
