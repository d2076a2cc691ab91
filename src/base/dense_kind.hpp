// Written by api/generate.py from api/operations.toml.
#pragma once

#include <cstdint>

namespace laneway {

/// Which dense operation.
enum class DenseKind : std::uint8_t {
  alltoall = 1,               ///< every rank sends a block of its own to every rank
  alltoallv = 2,              ///< as alltoall; blocks differ in size
  alltoallw = 3,              ///< as alltoall; blocks differ in size and datatype
  allgather = 4,              ///< every rank gets the blocks of all ranks
  allgatherv = 5,             ///< as allgather; blocks differ in size
  gather = 6,                 ///< the root gets the blocks of all ranks
  gatherv = 7,                ///< as gather; blocks differ in size
  scatter = 8,                ///< the root sends a block of its own to every rank
  scatterv = 9,               ///< as scatter; blocks differ in size
  bcast = 10,                 ///< every rank gets the block of the root
  reduce = 11,                ///< the root gets the blocks of all, combined
  allreduce = 12,             ///< every rank gets the blocks of all, combined
  reduce_scatter = 13,        ///< every rank gets its part of the blocks of all, combined; parts differ in size
  reduce_scatter_block = 14,  ///< every rank gets its part of the blocks of all, combined
  scan = 15,                  ///< every rank gets the blocks of all up to itself, combined
  exscan = 16,                ///< every rank gets the blocks of all before itself, combined
  barrier = 17,               ///< no rank returns before all have called
};

[[nodiscard]] constexpr const char* name(DenseKind kind) {
  switch (kind) {
    case DenseKind::alltoall:
      return "alltoall";
    case DenseKind::alltoallv:
      return "alltoallv";
    case DenseKind::alltoallw:
      return "alltoallw";
    case DenseKind::allgather:
      return "allgather";
    case DenseKind::allgatherv:
      return "allgatherv";
    case DenseKind::gather:
      return "gather";
    case DenseKind::gatherv:
      return "gatherv";
    case DenseKind::scatter:
      return "scatter";
    case DenseKind::scatterv:
      return "scatterv";
    case DenseKind::bcast:
      return "bcast";
    case DenseKind::reduce:
      return "reduce";
    case DenseKind::allreduce:
      return "allreduce";
    case DenseKind::reduce_scatter:
      return "reduce_scatter";
    case DenseKind::reduce_scatter_block:
      return "reduce_scatter_block";
    case DenseKind::scan:
      return "scan";
    case DenseKind::exscan:
      return "exscan";
    case DenseKind::barrier:
      return "barrier";
  }
  return "?";
}

/// Whether blocks are combined.
[[nodiscard]] constexpr bool reduces(DenseKind kind) {
  return kind == DenseKind::reduce || kind == DenseKind::allreduce || kind == DenseKind::reduce_scatter ||
         kind == DenseKind::reduce_scatter_block || kind == DenseKind::scan || kind == DenseKind::exscan;
}

/// Whether one rank is not like the others.
[[nodiscard]] constexpr bool has_root(DenseKind kind) {
  return kind == DenseKind::gather || kind == DenseKind::gatherv || kind == DenseKind::scatter ||
         kind == DenseKind::scatterv || kind == DenseKind::bcast || kind == DenseKind::reduce;
}

}  // namespace laneway
