#pragma once

#include <string_view>

#include "matrix/halo.hpp"

namespace laneway::matrix {

/// The halo of one rank for a 7- or 27-point stencil on a grid of points, of which each rank has a cube of `unknowns`
/// points a side: `box:points=27,unknowns=16,dims=4x4x4`. Unlike that of a matrix it follows from the rank alone,
/// without its local part. A rank's points are numbered with the last coordinate the fastest, after those of the ranks
/// before it. Throws Error(argument).
[[nodiscard]] Halo box_halo(std::string_view spec, Rank rank, Rank ranks);

/// Whether a pattern is one of these.
[[nodiscard]] bool is_box(std::string_view pattern);

}  // namespace laneway::matrix
