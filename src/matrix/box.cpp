#include "matrix/box.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "offline/grid.hpp"
#include "offline/spec.hpp"

namespace laneway::matrix {

namespace {

/// The points of a cube that its neighbour in the direction of `step` needs, ascending.
std::vector<std::int64_t> points_towards(const std::vector<std::int64_t>& step, std::int64_t side) {
  std::array<std::int64_t, 3> begin{};
  std::array<std::int64_t, 3> end{};
  for (std::size_t i = 0; i < 3; ++i) {
    begin[i] = step[i] > 0 ? side - 1 : 0;
    end[i] = step[i] < 0 ? 1 : side;
  }
  std::vector<std::int64_t> points;
  for (std::int64_t x = begin[0]; x < end[0]; ++x)
    for (std::int64_t y = begin[1]; y < end[1]; ++y)
      for (std::int64_t z = begin[2]; z < end[2]; ++z) points.push_back((x * side + y) * side + z);
  return points;
}

}  // namespace

bool is_box(std::string_view pattern) {
  return pattern == "box" || pattern.starts_with("box:");
}

Halo box_halo(std::string_view text, Rank rank, Rank ranks) {
  const Spec spec = parse_spec(text);
  constexpr std::array<std::string_view, 3> keys = {"points", "unknowns", "dims"};
  spec.allow_only(keys);
  const std::int64_t points = spec.integer("points", 27);
  const std::int64_t side = spec.integer("unknowns", 16);
  require(points == 7 || points == 27, ErrorKind::argument, "box: points must be 7 or 27");
  require(side >= 1 && side <= 1024, ErrorKind::argument, "box: unknowns must be 1 to 1024");
  const Grid grid = grid_of(spec, ranks, 3, false);
  const std::vector<std::int64_t> here = grid.coordinates(rank);
  std::vector<std::pair<Rank, std::vector<std::int64_t>>> neighbors;  // and the step to it
  for (std::int64_t direction = 0; direction < 27; ++direction) {
    std::vector<std::int64_t> step = {direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
    const auto along = 3 - std::count(step.begin(), step.end(), 0);
    const std::int64_t peer = grid.at(here, step);
    if (along > 0 && peer >= 0 && (points == 27 || along == 1))
      neighbors.emplace_back(static_cast<Rank>(peer), std::move(step));
  }
  std::sort(neighbors.begin(), neighbors.end());
  Halo halo;
  halo.rank = rank;
  halo.owned = side * side * side;
  halo.first_row = halo.first_column = rank * halo.owned;
  for (auto& [peer, step] : neighbors) {
    halo.out.push_back({peer, points_towards(step, side)});
    for (std::int64_t& x : step) x = -x;
    HaloNeighbor& in = halo.in.emplace_back(HaloNeighbor{peer, {}});
    for (std::int64_t point : points_towards(step, side)) {
      in.indices.push_back(std::ssize(halo.ghosts));
      halo.ghosts.push_back(peer * halo.owned + point);
    }
  }
  return halo;
}

}  // namespace laneway::matrix
