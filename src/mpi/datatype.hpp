#pragma once

#include <mpi.h>

#include <cstdint>

#include "core/ranges.hpp"

namespace laneway {

/// A datatype's type map as byte ranges in type map order, relative to the buffer, and its extent.
struct TypeMap {
  RangeList ranges;
  std::int64_t extent = 0;

  /// `count` elements, the first at `offset`.
  [[nodiscard]] RangeList elements(std::int64_t count, std::int64_t offset) const;
};

/// Reads any datatype by its envelope and contents; gaps are not in the ranges. Throws Error(type).
[[nodiscard]] TypeMap type_map(MPI_Datatype type);

}  // namespace laneway
