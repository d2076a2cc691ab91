#pragma once

#include <cstddef>
#include <cstdint>

namespace laneway {

/// The address `offset` bytes after `base`. Integer arithmetic, since MPI_BOTTOM with absolute offsets is legal.
[[nodiscard]] inline std::byte* at(std::byte* base, std::int64_t offset) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
}

}  // namespace laneway
