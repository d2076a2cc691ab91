// Jacobi's method in three dimensions, by a queue. The inner points are computed while the ghosts of the outer ones
// come.
#include <laneway/laneway.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

constexpr int side = 12;  // points of a rank in each direction
constexpr int iterations = 40;

using Point = std::array<int, 3>;

/// The points of a rank in a box with one layer of ghosts, which is zero where the domain ends.
struct Grid {
  Point points;
  std::vector<double> now, next;

  explicit Grid(const Point& inside)
      : points{inside[0] + 2, inside[1] + 2, inside[2] + 2},
        now(static_cast<std::size_t>(points[0] * points[1] * points[2])),
        next(now.size()) {}
  [[nodiscard]] std::size_t index(int x, int y, int z) const {
    return static_cast<std::size_t>((z * points[1] + y) * points[0] + x);
  }

  /// The points that need no ghosts, or the others.
  void compute(bool inner) {
    const auto is_inner = [&](int i, int d) { return i > 1 && i + 2 < points[static_cast<std::size_t>(d)]; };
    for (int z = 1; z + 1 < points[2]; ++z)
      for (int y = 1; y + 1 < points[1]; ++y)
        for (int x = 1; x + 1 < points[0]; ++x) {
          if ((is_inner(x, 0) && is_inner(y, 1) && is_inner(z, 2)) != inner) continue;
          const double sum = now[index(x - 1, y, z)] + now[index(x + 1, y, z)] + now[index(x, y - 1, z)] +
                             now[index(x, y + 1, z)] + now[index(x, y, z - 1)] + now[index(x, y, z + 1)];
          next[index(x, y, z)] = (1 + sum) / 6;
        }
  }
  /// The exchanges are of `now`, so that the new values go there.
  void advance() {
    for (int z = 1; z + 1 < points[2]; ++z)
      for (int y = 1; y + 1 < points[1]; ++y)
        for (int x = 1; x + 1 < points[0]; ++x) now[index(x, y, z)] = next[index(x, y, z)];
  }
  [[nodiscard]] double sum() const {
    double all = 0;
    for (int z = 1; z + 1 < points[2]; ++z)
      for (int y = 1; y + 1 < points[1]; ++y)
        for (int x = 1; x + 1 < points[0]; ++x) all += now[index(x, y, z)];
    return all;
  }
};

/// One layer of points, at `at` in direction `d`.
MPI_Datatype layer(const Grid& grid, int d, int at) {
  std::array<int, 3> sizes{grid.points[2], grid.points[1], grid.points[0]}, parts{}, first{1, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) parts[i] = sizes[i] - 2;
  const auto dimension = static_cast<std::size_t>(2 - d);
  parts[dimension] = 1;
  first[dimension] = at;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes.data(), parts.data(), first.data(), MPI_ORDER_C, MPI_DOUBLE, &made);
  MPI_Type_commit(&made);
  return made;
}

/// All six faces are one exchange.
LNW_Request ghosts(Grid& grid, const Point& place, const Point& ranks) {
  std::vector<int> neighbors;
  std::vector<MPI_Datatype> out, in;
  for (int d = 0; d < 3; ++d)
    for (const int step : {-1, 1}) {
      Point there = place;
      const auto dimension = static_cast<std::size_t>(d);
      there[dimension] += step;
      if (there[dimension] < 0 || there[dimension] == ranks[dimension]) continue;
      neighbors.push_back((there[2] * ranks[1] + there[1]) * ranks[0] + there[0]);
      const int last = grid.points[dimension] - 1;
      out.push_back(layer(grid, d, step < 0 ? 1 : last - 1));
      in.push_back(layer(grid, d, step < 0 ? 0 : last));
    }
  const int degree = static_cast<int>(neighbors.size());
  const std::vector<int> counts(neighbors.size(), 1);
  const std::vector<MPI_Aint> displacements(neighbors.size(), 0);
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  LNW_Topology_create(MPI_COMM_WORLD, degree, neighbors.data(), MPI_UNWEIGHTED, degree, neighbors.data(),
                      MPI_UNWEIGHTED, MPI_INFO_NULL, &topology);
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Neighbor_alltoallw_init_topology(grid.now.data(), counts.data(), displacements.data(), out.data(),
                                       grid.now.data(), counts.data(), displacements.data(), in.data(), topology,
                                       MPI_INFO_NULL, &request);
  LNW_Topology_free(&topology);
  for (std::vector<MPI_Datatype>* types : {&out, &in})
    for (MPI_Datatype& type : *types) MPI_Type_free(&type);
  return request;
}

double sum_on_one_rank(const Point& inside) {
  Grid grid(inside);
  for (int i = 0; i < iterations; ++i) {
    grid.compute(true);
    grid.compute(false);
    grid.advance();
  }
  return grid.sum();
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Point ranks{};
  MPI_Dims_create(size, 3, ranks.data());
  const Point place{rank % ranks[0], rank / ranks[0] % ranks[1], rank / (ranks[0] * ranks[1])};
  Grid grid({side, side, side});
  LNW_Request halo = ghosts(grid, place, ranks);

  const int by_host = level == MPI_THREAD_MULTIPLE ? 0 : LNW_QUEUE_PROGRESS_BY_HOST;
  LNW_Queue queue = LNW_QUEUE_NULL;
  LNW_Queue_init(&queue, LNW_QUEUE_HOST | by_host, nullptr);
  for (int i = 0; i < iterations; ++i) {
    LNW_Enqueue_start(queue, &halo);
    LNW_Enqueue_call(
        queue, [](void* argument) { static_cast<Grid*>(argument)->compute(true); }, &grid);
    LNW_Enqueue_wait(queue, &halo);
    LNW_Enqueue_call(
        queue,
        [](void* argument) {
          static_cast<Grid*>(argument)->compute(false);
          static_cast<Grid*>(argument)->advance();
        },
        &grid);
  }
  LNW_Queue_wait(queue);

  const double mine = grid.sum();
  double all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  bool right = true;
  if (rank == 0) {
    const double expected = sum_on_one_rank({side * ranks[0], side * ranks[1], side * ranks[2]});
    right = std::abs(all - expected) <= 1e-9 * expected;
    std::printf("mean after %d iterations: %.6f, %s\n", iterations, all / (size * side * side * side),
                right ? "right" : "WRONG");
  }
  LNW_Queue_free(&queue);
  LNW_Request_free(&halo);
  MPI_Finalize();
  return right ? 0 : 1;
}
