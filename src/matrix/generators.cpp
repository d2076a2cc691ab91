#include "matrix/generators.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"

namespace laneway::matrix {

namespace {

std::int64_t bounded(const Spec& spec, const std::string& name, std::int64_t low, std::int64_t high) {
  const std::int64_t number = spec.integer(name, low);
  require(number >= low && number <= high, ErrorKind::argument,
          spec.name + ": " + name + "=" + std::to_string(number) + " is not between " + std::to_string(low) + " and " +
              std::to_string(high));
  return number;
}

std::int64_t extent(const Spec& spec, const std::string& name) {
  return bounded(spec, name, 1, std::numeric_limits<std::int32_t>::max());
}

/// The point and its neighbours at most one step away in every direction; with `star`, only those on the axes. -1 for a
/// neighbour, their number for the point itself.
Csr laplacian(const Spec& spec, bool three_dimensional, bool star) {
  std::vector<StencilPoint> points;
  const int depth = three_dimensional ? 1 : 0;
  for (int dz = -depth; dz <= depth; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if (!star || dx * dx + dy * dy + dz * dz <= 1) points.push_back({dx, dy, dz, -1.0});
  points[points.size() / 2].value = static_cast<double>(points.size() - 1);
  return stencil(extent(spec, "nx"), extent(spec, "ny"), three_dimensional ? extent(spec, "nz") : 1, points);
}

Csr make_rotated(const Spec& spec) {
  return rotated_diffusion(extent(spec, "nx"), extent(spec, "ny"), spec.real("angle", 0), spec.real("epsilon", 0),
                           static_cast<int>(bounded(spec, "points", 7, 9)));
}

constexpr std::array grid_2d{Parameter{"nx", "512", "grid points along x, the fastest index"},
                             Parameter{"ny", "512", "grid points along y"}};
constexpr std::array grid_3d{Parameter{"nx", "48", "grid points along x, the fastest index"},
                             Parameter{"ny", "48", "grid points along y"},
                             Parameter{"nz", "48", "grid points along z"}};
constexpr std::array rotated_parameters{Parameter{"nx", "512", "grid points along x, the fastest index"},
                                        Parameter{"ny", "512", "grid points along y"},
                                        Parameter{"angle", "45", "degrees from the x axis to the strong direction"},
                                        Parameter{"epsilon", "0.001", "diffusion across that direction, along it 1"},
                                        Parameter{"points", "9", "9: bilinear finite elements; 7: finite differences"}};
constexpr std::array delaunay_parameters{Parameter{"n", "131072", "points"}, Parameter{"seed", "1", "of the points"},
                                         Parameter{"curve", "1", "1: numbered along a Hilbert curve; 0: in no order"}};
constexpr std::array de_bruijn_parameters{Parameter{"k", "12", "bits: 2^k rows"}};
constexpr std::array ccc_parameters{Parameter{"k", "10", "dimensions: k 2^k rows"}};

constexpr std::array table{
    Generator{"5pt", "2-D Laplacian, 5-point stencil", grid_2d,
              [](const Spec& spec) { return laplacian(spec, false, true); }},
    Generator{"9pt", "2-D stencil of a point and its 8 neighbours", grid_2d,
              [](const Spec& spec) { return laplacian(spec, false, false); }},
    Generator{"7pt3d", "3-D Laplacian, 7-point stencil", grid_3d,
              [](const Spec& spec) { return laplacian(spec, true, true); }},
    Generator{"27pt", "3-D stencil of a point and its 26 neighbours", grid_3d,
              [](const Spec& spec) { return laplacian(spec, true, false); }},
    Generator{"rotated", "rotated anisotropic diffusion in 2-D", rotated_parameters, make_rotated},
    Generator{"delaunay", "Delaunay triangulation of random points", delaunay_parameters,
              [](const Spec& spec) {
                const auto seed = bounded(spec, "seed", 0, std::numeric_limits<std::int64_t>::max());
                return delaunay(bounded(spec, "n", 4, 100'000'000), static_cast<std::uint64_t>(seed),
                                bounded(spec, "curve", 0, 1) == 1);
              }},
    Generator{"debruijn", "undirected binary de Bruijn graph", de_bruijn_parameters,
              [](const Spec& spec) { return de_bruijn(static_cast<int>(bounded(spec, "k", 1, 28))); }},
    Generator{"ccc", "cube-connected cycles", ccc_parameters,
              [](const Spec& spec) { return cube_connected_cycles(static_cast<int>(bounded(spec, "k", 3, 24))); }},
};

}  // namespace

std::span<const Generator> generators() {
  return table;
}

Csr generate(std::string_view text) {
  Spec spec = parse_spec(text);
  const auto generator = std::ranges::find(table, spec.name, &Generator::name);
  if (generator == table.end()) {
    std::string names;
    for (const Generator& known : table) names += (names.empty() ? "" : ", ") + std::string(known.name);
    throw Error(ErrorKind::argument,
                "unknown matrix '" + std::string(text) + "'; valid are files that end in .mtx or .graph, and " + names);
  }
  std::vector<std::string_view> keys;
  for (const Parameter& parameter : generator->parameters) keys.push_back(parameter.name);
  spec.allow_only(keys);
  for (const Parameter& parameter : generator->parameters)
    spec.parameters.emplace(parameter.name, parameter.fallback);  // leaves what was given
  return generator->make(spec);
}

std::string describe_generators() {
  std::string text;
  for (const Generator& generator : table) {
    std::string spec(generator.name);
    char separator = ':';
    for (const Parameter& parameter : generator.parameters) {
      spec += separator + std::string(parameter.name) + "=" + std::string(parameter.fallback);
      separator = ',';
    }
    text += spec + "  " + std::string(generator.description) + "\n";
  }
  return text;
}

Csr de_bruijn(int k) {
  const std::int64_t n = std::int64_t{1} << k;
  std::vector<std::pair<std::int64_t, std::int64_t>> edges;
  edges.reserve(static_cast<std::size_t>(2 * n));
  for (std::int64_t word = 0; word < n; ++word)
    for (std::int64_t bit = 0; bit < 2; ++bit) {
      const std::int64_t next = (2 * word + bit) & (n - 1);
      edges.emplace_back(word, next);
    }
  return adjacency(n, edges);
}

Csr cube_connected_cycles(int k) {
  const std::int64_t corners = std::int64_t{1} << k;
  std::vector<std::pair<std::int64_t, std::int64_t>> edges;
  edges.reserve(static_cast<std::size_t>(2 * corners * k));
  for (std::int64_t corner = 0; corner < corners; ++corner)
    for (std::int64_t d = 0; d < k; ++d) {
      edges.emplace_back(corner * k + d, corner * k + (d + 1) % k);
      edges.emplace_back(corner * k + d, (corner ^ (std::int64_t{1} << d)) * k + d);
    }
  return adjacency(k * corners, edges);
}

}  // namespace laneway::matrix
