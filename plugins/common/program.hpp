#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tiles.hpp"

namespace laneway::gpu {

/// Runs as a kernel takes them: cut into pieces of about the same size, with single elements gathered under indices.
struct Program {
  std::vector<Tile> tiles;
  std::vector<std::uint32_t> index;
  std::uint32_t bases = 0;  ///< how many are needed
};

/// `warps`: how many a device runs at a time, so that small exchanges use all of it. Throws Failure for a negative size
/// or a base that there is not.
[[nodiscard]] Program compile(std::span<const lnw_device_run> runs, std::size_t warps);
/// Of numbers of `unit` bytes that are combined: no tile has a part of one. Throws Failure for a run that has.
[[nodiscard]] Program compile_numbers(std::span<const lnw_device_run> runs, std::size_t warps, std::int64_t unit);

}  // namespace laneway::gpu
