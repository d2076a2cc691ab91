#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <tuple>

#include "base/error.hpp"
#include "matrix/generators.hpp"

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

namespace laneway::matrix {

namespace {

struct Point {
  double x = 0;
  double y = 0;
  std::uint64_t key = 0;
};

/// Position along the Hilbert curve of order 32. D. Hilbert, Math. Ann. 38, 1891; the quadrant walk with a swap and a
/// flip a level, as in H. S. Warren, Hacker's Delight, 2nd edition, section 16.
std::uint64_t hilbert(std::uint32_t x, std::uint32_t y) {
  std::uint64_t key = 0;
  for (int level = 31; level >= 0; --level) {
    const std::uint32_t right = (x >> level) & 1U;
    const std::uint32_t upper = (y >> level) & 1U;
    key = (key << 2) | ((3U * right) ^ upper);
    if (upper == 0) {
      if (right == 1) {
        x = ~x;
        y = ~y;
      }
      std::swap(x, y);
    }
  }
  return key;
}

/// std::uniform_real_distribution may differ between standard libraries; the engine's own output may not.
std::vector<Point> random_points(std::int64_t n, std::uint64_t seed, bool along_curve) {
  std::mt19937_64 engine(seed);
  const auto uniform = [&engine] { return static_cast<double>(engine() >> 11) * 0x1.0p-53; };
  std::vector<Point> points(static_cast<std::size_t>(n));
  for (Point& point : points) {
    point.x = uniform();
    point.y = uniform();
    point.key = hilbert(static_cast<std::uint32_t>(point.x * 0x1.0p32), static_cast<std::uint32_t>(point.y * 0x1.0p32));
  }
  if (along_curve) std::ranges::sort(points, {}, [](const Point& p) { return std::tuple(p.key, p.x, p.y); });
  return points;
}

/// Frees all that Qhull holds, also after a failure.
struct QhullOwner {
  qhT state;

  QhullOwner() { qh_zero(&state, stderr); }
  QhullOwner(const QhullOwner&) = delete;
  QhullOwner& operator=(const QhullOwner&) = delete;
  ~QhullOwner() {
    qh_freeqhull(&state, !qh_ALL);
    int blocks = 0;
    int bytes = 0;
    qh_memfreeshort(&state, &blocks, &bytes);
  }
};

}  // namespace

Csr delaunay(std::int64_t n, std::uint64_t seed, bool along_curve) {
  require(n >= 4, ErrorKind::argument, "delaunay: n=" + std::to_string(n) + " is less than 4 points");
  require(n <= 100'000'000, ErrorKind::argument, "delaunay: n=" + std::to_string(n) + " is more than 100,000,000");
  const std::vector<Point> points = random_points(n, seed, along_curve);
  std::vector<coordT> coordinates;
  coordinates.reserve(2 * points.size());
  for (const Point& point : points) {
    coordinates.push_back(point.x);
    coordinates.push_back(point.y);
  }

  const auto owner = std::make_unique<QhullOwner>();
  qhT* qh = &owner->state;
  // d: Delaunay; Qbb: scale the lifted coordinate; Qt: triangulate what is cocircular.
  char command[] = "qhull d Qbb Qt";
  const int code = qh_new_qhull(qh, 2, static_cast<int>(n), coordinates.data(), False, command, nullptr, stderr);
  require(code == 0, ErrorKind::internal, "delaunay: Qhull failed with code " + std::to_string(code));

  std::vector<std::pair<std::int64_t, std::int64_t>> edges;
  edges.reserve(static_cast<std::size_t>(6 * n));
  facetT* facet = nullptr;
  FORALLfacets {
    if (facet->upperdelaunay) continue;
    std::int64_t corners[3] = {};
    int count = 0;
    vertexT* vertex = nullptr;
    vertexT** vertexp = nullptr;
    FOREACHvertex_(facet->vertices) {
      require(count < 3, ErrorKind::internal, "delaunay: Qhull returned a cell that is not a triangle");
      corners[count++] = qh_pointid(qh, vertex->point);
    }
    for (int i = 0; i < count; ++i)
      for (int j = i + 1; j < count; ++j) edges.emplace_back(corners[i], corners[j]);
  }
  return adjacency(n, edges);
}

}  // namespace laneway::matrix
