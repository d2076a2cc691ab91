// What host and kernels agree on. Read by g++, nvcc and hipcc.
#pragma once

#include <laneway/device.h>
#include <laneway/device_combine.h>
#include <stdint.h>

namespace laneway::gpu {

/// A piece of work of one warp (wavefront): `rows` rows of `row_bytes` bytes. Where they begin, relative to a base and
/// `from` or `to`: row i at i * stride, or, if indexed, at index[i] * row_bytes.
struct Tile {
  int64_t from, to;
  int64_t from_stride, to_stride;
  uint32_t row_bytes, rows;
  uint32_t from_index, to_index;  ///< first of `rows` entries of the table of indices; not_indexed
  uint16_t from_base, to_base;
  uint32_t unused;
};

inline constexpr uint32_t not_indexed = 0xFFFFFFFF;

struct Bases {
  char* at[LNW_DEVICE_BASES];
};

inline constexpr unsigned block_threads = 256;
inline constexpr unsigned most_blocks = 0x7FFFFFFF;

}  // namespace laneway::gpu
