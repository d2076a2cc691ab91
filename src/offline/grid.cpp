#include "offline/grid.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "base/error.hpp"

namespace laneway {

std::vector<std::int64_t> Grid::coordinates(std::int64_t rank) const {
  std::vector<std::int64_t> c(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    c[i] = rank % dims[i];
    rank /= dims[i];
  }
  return c;
}

std::int64_t Grid::at(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& step) const {
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t x = from[i] + step[i];
    if (periodic)
      x = (x % dims[i] + dims[i]) % dims[i];
    else if (x < 0 || x >= dims[i])
      return -1;
    rank = rank * dims[i] + x;
  }
  return rank;
}

Grid grid_of(const Spec& spec, Rank ranks, std::int64_t dimensions, bool periodic) {
  Grid grid{spec.integers("dims"), spec.integer("periodic", periodic) != 0};
  if (grid.dims.empty()) grid.dims = balanced_dims(ranks, dimensions);
  require(static_cast<std::int64_t>(grid.dims.size()) == dimensions, ErrorKind::argument,
          spec.name + ": dims has " + std::to_string(grid.dims.size()) + " entries, expected " +
              std::to_string(dimensions));
  std::int64_t product = 1;
  for (std::int64_t d : grid.dims) {
    require(d >= 1 && d <= ranks, ErrorKind::argument, spec.name + ": dims must be between 1 and the number of ranks");
    if (product <= ranks) product *= d;
  }
  require(product == ranks, ErrorKind::argument,
          spec.name + ": the product of dims is " + std::to_string(product) + ", there are " + std::to_string(ranks) +
              " ranks");
  return grid;
}

std::vector<std::int64_t> balanced_dims(std::int64_t ranks, std::int64_t dimensions) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(dimensions), 1);
  std::vector<std::int64_t> factors;
  for (std::int64_t f = 2, rest = ranks; rest > 1; ++f) {
    if (f * f > rest) f = rest;
    for (; rest % f == 0; rest /= f) factors.push_back(f);
  }
  for (std::size_t i = factors.size(); i-- > 0;) *std::min_element(dims.begin(), dims.end()) *= factors[i];
  std::sort(dims.begin(), dims.end(), std::greater<>());
  return dims;
}

}  // namespace laneway
