#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes/types.hpp"
#include "offline/spec.hpp"

namespace laneway {

/// Ranks in a grid, the last coordinate the fastest.
struct Grid {
  std::vector<std::int64_t> dims;
  bool periodic = true;

  [[nodiscard]] std::vector<std::int64_t> coordinates(std::int64_t rank) const;
  /// The rank at `from` + `step`, or -1 outside an open boundary.
  [[nodiscard]] std::int64_t at(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& step) const;
};

/// That of the parameters `dims` (near-equal factors if it is absent) and `periodic`. Throws Error(argument) if it is
/// not one of `ranks` in so many dimensions.
[[nodiscard]] Grid grid_of(const Spec& spec, Rank ranks, std::int64_t dimensions, bool periodic);

/// Near-equal factors of `ranks`, largest first (as MPI_Dims_create chooses them).
[[nodiscard]] std::vector<std::int64_t> balanced_dims(std::int64_t ranks, std::int64_t dimensions);

}  // namespace laneway
