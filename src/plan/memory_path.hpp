#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace laneway {

/// How data in buffers on devices gets to other ranks. Independent of strategies and transports.
enum class MemoryPath : std::uint8_t {
  automatic,
  staged,        ///< each rank copies its own through the host's memory
  borrowed,      ///< and ranks of a node copy straight from each other's devices
  device_aware,  ///< the MPI library is given addresses on devices
};

struct MemoryPathRow {
  std::string_view name;  ///< as the hint lnw_memory_path has it
  MemoryPath path;
};

[[nodiscard]] std::span<const MemoryPathRow> memory_paths();

/// The name of a path; the first, where it has several.
[[nodiscard]] std::string_view name(MemoryPath path);

}  // namespace laneway
