// The kernels of all vendors: compiled by nvcc, and by hipcc --genco.
#if defined(__HIP_PLATFORM_AMD__) || defined(__HIP__)
#include <hip/hip_runtime.h>
#endif

#include "tiles.hpp"

namespace laneway::gpu {
namespace {

/// One row, in units of T. Loads of a lane are under way together.
template <class T>
__device__ void move_row(const char* __restrict__ from, char* __restrict__ to, unsigned bytes, unsigned lane,
                         unsigned lanes) {
  const T* const source = reinterpret_cast<const T*>(from);
  T* const target = reinterpret_cast<T*>(to);
  const auto units = static_cast<unsigned>(bytes / sizeof(T));
  unsigned unit = lane;
  for (; unit + 3 * lanes < units; unit += 4 * lanes) {
    const T a = source[unit];
    const T b = source[unit + lanes];
    const T c = source[unit + 2 * lanes];
    const T d = source[unit + 3 * lanes];
    target[unit] = a;
    target[unit + lanes] = b;
    target[unit + 2 * lanes] = c;
    target[unit + 3 * lanes] = d;
  }
  for (; unit < units; unit += lanes) target[unit] = source[unit];
}

/// Where unit `unit` of a tile is, in units of T.
template <class T>
struct Place {
  int64_t stride;
  const uint32_t* index;
  unsigned row_units;

  __device__ int64_t operator()(unsigned unit) const {
    if (row_units == 1) return index != nullptr ? static_cast<int64_t>(index[unit]) : unit * stride;
    const unsigned row = unit / row_units;
    return (index != nullptr ? static_cast<int64_t>(index[row]) * row_units : row * stride) + (unit - row * row_units);
  }
};

template <class T>
__device__ void move_rows(const Tile& tile, const char* __restrict__ from, char* __restrict__ to,
                          const uint32_t* __restrict__ index, unsigned lane, unsigned lanes) {
  const T* const source = reinterpret_cast<const T*>(from);
  T* const target = reinterpret_cast<T*>(to);
  constexpr int64_t size = sizeof(T);
  const auto row_units = static_cast<unsigned>(tile.row_bytes / sizeof(T));
  const Place<T> read{tile.from_stride / size, tile.from_index == not_indexed ? nullptr : index + tile.from_index,
                      row_units};
  const Place<T> write{tile.to_stride / size, tile.to_index == not_indexed ? nullptr : index + tile.to_index,
                       row_units};
  const unsigned units = row_units * tile.rows;
  unsigned unit = lane;
  for (; unit + 3 * lanes < units; unit += 4 * lanes) {
    const T a = source[read(unit)];
    const T b = source[read(unit + lanes)];
    const T c = source[read(unit + 2 * lanes)];
    const T d = source[read(unit + 3 * lanes)];
    target[write(unit)] = a;
    target[write(unit + lanes)] = b;
    target[write(unit + 2 * lanes)] = c;
    target[write(unit + 3 * lanes)] = d;
  }
  for (; unit < units; unit += lanes) target[write(unit)] = source[read(unit)];
}

/// What plans combine is written out by hand: bit for bit what a plain loop gives.
template <class T>
__device__ T combined(T to, T from, int operation) {
  switch (operation) {
    case LNW_DEVICE_SUM:
      return to + from;
    case LNW_DEVICE_PROD:
      return to * from;
    case LNW_DEVICE_MIN:
      return from < to ? from : to;
    default:
      return from > to ? from : to;
  }
}
/// Of whole numbers, which have all operators. Short ones are combined as wider ones, and cut.
template <class T>
__device__ T combined_whole(T to, T from, int operation) {
  switch (operation) {
    case LNW_DEVICE_SUM:
      return static_cast<T>(static_cast<uint64_t>(to) + static_cast<uint64_t>(from));
    case LNW_DEVICE_PROD:
      return static_cast<T>(static_cast<uint64_t>(to) * static_cast<uint64_t>(from));
    case LNW_DEVICE_LAND:
      return to != 0 && from != 0;
    case LNW_DEVICE_LOR:
      return to != 0 || from != 0;
    case LNW_DEVICE_LXOR:
      return (to != 0) != (from != 0);
    case LNW_DEVICE_BAND:
      return static_cast<T>(to & from);
    case LNW_DEVICE_BOR:
      return static_cast<T>(to | from);
    case LNW_DEVICE_BXOR:
      return static_cast<T>(to ^ from);
    default:
      return combined(to, from, operation);
  }
}
__device__ float combined_number(float to, float from, int operation) {
  return combined(to, from, operation);
}
__device__ double combined_number(double to, double from, int operation) {
  return combined(to, from, operation);
}
template <class T>
__device__ T combined_number(T to, T from, int operation) {
  return combined_whole(to, from, operation);
}

template <class T>
__device__ void combine_tile(const Tile& tile, const char* from, char* to, const uint32_t* index, unsigned lane,
                             unsigned lanes, int operation) {
  const T* const source = reinterpret_cast<const T*>(from);
  T* const target = reinterpret_cast<T*>(to);
  constexpr int64_t size = sizeof(T);
  const auto row_units = static_cast<unsigned>(tile.row_bytes / sizeof(T));
  const Place<T> read{tile.from_stride / size, tile.from_index == not_indexed ? nullptr : index + tile.from_index,
                      row_units};
  const Place<T> write{tile.to_stride / size, tile.to_index == not_indexed ? nullptr : index + tile.to_index,
                       row_units};
  const unsigned units = row_units * tile.rows;
  for (unsigned unit = lane; unit < units; unit += lanes) {
    T& there = target[write(unit)];
    there = combined_number(there, source[read(unit)], operation);
  }
}

template <class T>
__device__ void move_tile(const Tile& tile, const char* from, char* to, const uint32_t* index, unsigned lane,
                          unsigned lanes) {
  if (tile.rows == 1 && tile.from_index == not_indexed && tile.to_index == not_indexed)
    move_row<T>(from, to, tile.row_bytes, lane, lanes);
  else
    move_rows<T>(tile, from, to, index, lane, lanes);
}

}  // namespace
}  // namespace laneway::gpu

using namespace laneway::gpu;

/// One tile a warp, by the widest accesses that addresses, strides and sizes of the tile allow.
extern "C" __global__ void __launch_bounds__(block_threads)
    laneway_moves(const Tile* __restrict__ tiles, const uint32_t* __restrict__ index, unsigned tile_count,
                  Bases bases) {
  const unsigned lanes = warpSize;
  const unsigned lane = threadIdx.x % lanes;
  const unsigned number = (blockIdx.x * block_threads + threadIdx.x) / lanes;
  if (number >= tile_count) return;
  const Tile tile = tiles[number];
  const char* const from = bases.at[tile.from_base] + tile.from;
  char* const to = bases.at[tile.to_base] + tile.to;
  uint64_t parts = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to) | tile.row_bytes;
  if (tile.rows > 1) parts |= static_cast<uint64_t>(tile.from_stride) | static_cast<uint64_t>(tile.to_stride);
  if ((parts & 15) == 0)
    move_tile<uint4>(tile, from, to, index, lane, lanes);
  else if ((parts & 7) == 0)
    move_tile<uint64_t>(tile, from, to, index, lane, lanes);
  else if ((parts & 3) == 0)
    move_tile<uint32_t>(tile, from, to, index, lane, lanes);
  else if ((parts & 1) == 0)
    move_tile<uint16_t>(tile, from, to, index, lane, lanes);
  else
    move_tile<uint8_t>(tile, from, to, index, lane, lanes);
}

/// One tile a warp, of whole numbers that are aligned. Sums and products of whole numbers wrap around.
extern "C" __global__ void __launch_bounds__(block_threads)
    laneway_combine(const Tile* __restrict__ tiles, const uint32_t* __restrict__ index, unsigned tile_count,
                    Bases bases, int operation, int number) {
  const unsigned lanes = warpSize;
  const unsigned lane = threadIdx.x % lanes;
  const unsigned own = (blockIdx.x * block_threads + threadIdx.x) / lanes;
  if (own >= tile_count) return;
  const Tile tile = tiles[own];
  const char* const from = bases.at[tile.from_base] + tile.from;
  char* const to = bases.at[tile.to_base] + tile.to;
  switch (number) {
    case LNW_DEVICE_FLOAT64:
      return combine_tile<double>(tile, from, to, index, lane, lanes, operation);
    case LNW_DEVICE_FLOAT32:
      return combine_tile<float>(tile, from, to, index, lane, lanes, operation);
    case LNW_DEVICE_INT8:
      return combine_tile<int8_t>(tile, from, to, index, lane, lanes, operation);
    case LNW_DEVICE_UINT8:
      return combine_tile<uint8_t>(tile, from, to, index, lane, lanes, operation);
    case LNW_DEVICE_INT16:
      return combine_tile<int16_t>(tile, from, to, index, lane, lanes, operation);
    case LNW_DEVICE_UINT16:
      return combine_tile<uint16_t>(tile, from, to, index, lane, lanes, operation);
    case LNW_DEVICE_INT32:
      return combine_tile<int32_t>(tile, from, to, index, lane, lanes, operation);
    case LNW_DEVICE_UINT32:
      return combine_tile<uint32_t>(tile, from, to, index, lane, lanes, operation);
    case LNW_DEVICE_INT64:
      return combine_tile<int64_t>(tile, from, to, index, lane, lanes, operation);
    default:
      return combine_tile<uint64_t>(tile, from, to, index, lane, lanes, operation);
  }
}

/// For streams that cannot write and wait for words themselves. One thread.
extern "C" __global__ void laneway_write(volatile uint64_t* word, uint64_t value) {
  __threadfence_system();
  *word = value;
}

extern "C" __global__ void laneway_wait(const volatile uint64_t* word, uint64_t value) {
  while (*word < value) {
#if defined(__CUDA_ARCH__)
    __nanosleep(200);
#else
    __builtin_amdgcn_s_sleep(16);
#endif
  }
  __threadfence_system();
}

/// One thread for each number of Y. Compiled without fused operations.
extern "C" __global__ void __launch_bounds__(block_threads)
    laneway_multiply(int64_t rows, const int64_t* __restrict__ row_begin, const int32_t* __restrict__ column,
                     const double* __restrict__ value, const double* __restrict__ x, double* __restrict__ y,
                     unsigned width) {
  const uint64_t number = static_cast<uint64_t>(blockIdx.x) * block_threads + threadIdx.x;
  const auto row = static_cast<int64_t>(number / width);
  if (row >= rows) return;
  const double* const column_of_x = x + number % width;
  double sum = 0;
  for (int64_t k = row_begin[row]; k < row_begin[row + 1]; ++k)
    sum += value[k] * column_of_x[static_cast<int64_t>(column[k]) * width];
  y[number] = sum;
}

extern "C" __global__ void __launch_bounds__(block_threads)
    laneway_move_elements(uint64_t* __restrict__ to, const uint32_t* __restrict__ to_index,
                          const uint64_t* __restrict__ from, const uint32_t* __restrict__ from_index, uint64_t count) {
  const uint64_t i = static_cast<uint64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i >= count) return;
  to[to_index != nullptr ? to_index[i] : i] = from[from_index != nullptr ? from_index[i] : i];
}
