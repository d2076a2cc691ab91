#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "base/error.hpp"
#include "matrix/generators.hpp"

namespace laneway::matrix {

Csr stencil(std::int64_t nx, std::int64_t ny, std::int64_t nz, std::span<const StencilPoint> points) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  require(nx > 0 && ny > 0 && nz > 0, ErrorKind::argument, "stencil: a grid must have points in every direction");
  require(nx <= most && ny <= most / nx && nz <= most / (nx * ny), ErrorKind::argument,
          "stencil: a grid of " + std::to_string(nx) + " x " + std::to_string(ny) + " x " + std::to_string(nz) +
              " has more than 2^31 - 1 points");
  std::vector<StencilPoint> sorted(points.begin(), points.end());
  std::ranges::sort(sorted, {}, [](const StencilPoint& p) { return std::tuple(p.dz, p.dy, p.dx); });

  Csr result;
  result.rows = result.columns = nx * ny * nz;
  result.row_begin.reserve(static_cast<std::size_t>(result.rows + 1));
  result.column.reserve(static_cast<std::size_t>(result.rows) * sorted.size());
  result.value.reserve(result.column.capacity());
  for (std::int64_t z = 0; z < nz; ++z)
    for (std::int64_t y = 0; y < ny; ++y)
      for (std::int64_t x = 0; x < nx; ++x) {
        for (const StencilPoint& p : sorted) {
          const std::int64_t px = x + p.dx;
          const std::int64_t py = y + p.dy;
          const std::int64_t pz = z + p.dz;
          if (px < 0 || px >= nx || py < 0 || py >= ny || pz < 0 || pz >= nz) continue;
          result.column.push_back((pz * ny + py) * nx + px);
          result.value.push_back(p.value);
        }
        result.row_begin.push_back(result.nonzeros());
      }
  return result;
}

std::vector<StencilPoint> rotated_diffusion_stencil(double angle, double epsilon, int points) {
  require(points == 7 || points == 9, ErrorKind::argument,
          "rotated: points=" + std::to_string(points) + " is neither 7 nor 9");
  require(std::isfinite(angle) && std::isfinite(epsilon), ErrorKind::argument,
          "rotated: angle and epsilon must be finite");
  const double c = std::cos(angle * std::numbers::pi / 180);
  const double s = std::sin(angle * std::numbers::pi / 180);
  const double xx = c * c + epsilon * s * s;
  const double yy = s * s + epsilon * c * c;
  const double xy = (1 - epsilon) * c * s;
  if (points == 9) {
    const double along_x = -2 * xx / 3 + yy / 3;
    const double along_y = xx / 3 - 2 * yy / 3;
    const double rising = -(xx + yy) / 6 - xy / 2;
    const double falling = -(xx + yy) / 6 + xy / 2;
    return {{-1, -1, 0, rising}, {0, -1, 0, along_y},          {1, -1, 0, falling},
            {-1, 0, 0, along_x}, {0, 0, 0, 4 * (xx + yy) / 3}, {1, 0, 0, along_x},
            {-1, 1, 0, falling}, {0, 1, 0, along_y},           {1, 1, 0, rising}};
  }
  const double mixed = std::abs(xy);
  const int slope = xy >= 0 ? 1 : -1;
  return {{-1, -slope, 0, -mixed}, {0, -1, 0, mixed - yy}, {-1, 0, 0, mixed - xx}, {0, 0, 0, 2 * (xx + yy - mixed)},
          {1, 0, 0, mixed - xx},   {0, 1, 0, mixed - yy},  {1, slope, 0, -mixed}};
}

Csr rotated_diffusion(std::int64_t nx, std::int64_t ny, double angle, double epsilon, int points) {
  return stencil(nx, ny, 1, rotated_diffusion_stencil(angle, epsilon, points));
}

}  // namespace laneway::matrix
