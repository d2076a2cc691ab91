#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/csr.hpp"
#include "offline/spec.hpp"

namespace laneway::matrix {

/// A parameter of a generator; without a default it must be given.
struct Parameter {
  std::string_view name;
  std::string_view fallback;
  std::string_view description;
};

/// A kind of matrix that can be named by a spec. `make` gets every parameter, defaults filled in.
struct Generator {
  std::string_view name;
  std::string_view description;
  std::span<const Parameter> parameters;
  Csr (*make)(const Spec& spec);
};

[[nodiscard]] std::span<const Generator> generators();

/// The matrix that `spec` names, e.g. `5pt:nx=100,ny=100`. Throws Error(ErrorKind::argument) that lists what is valid.
[[nodiscard]] Csr generate(std::string_view spec);

/// One line for each generator with its parameters, for help texts.
[[nodiscard]] std::string describe_generators();

/// Undirected binary de Bruijn graph: vertices are the words of k bits, joined where one is the other shifted by a bit.
[[nodiscard]] Csr de_bruijn(int k);

/// Cube-connected cycles: each vertex of the k-dimensional hypercube is a cycle of k vertices, one for each dimension.
[[nodiscard]] Csr cube_connected_cycles(int k);

struct StencilPoint {
  int dx = 0;
  int dy = 0;
  int dz = 0;
  double value = 0;
};

/// A stencil on an nx × ny × nz grid, x fastest; neighbours outside the grid are left out (Dirichlet boundary).
[[nodiscard]] Csr stencil(std::int64_t nx, std::int64_t ny, std::int64_t nz, std::span<const StencilPoint> points);

/// -div(Q diag(1, epsilon) Q^T grad u), Q the rotation by `angle` degrees from the x axis, on a unit grid. 9 points:
/// bilinear finite elements; 7 points: finite differences whose mixed derivative lies on the diagonal that keeps the
/// corners negative (entries that are 0 are stored).
[[nodiscard]] std::vector<StencilPoint> rotated_diffusion_stencil(double angle, double epsilon, int points);
[[nodiscard]] Csr rotated_diffusion(std::int64_t nx, std::int64_t ny, double angle, double epsilon, int points);

/// Adjacency of the Delaunay triangulation of n >= 4 uniformly random points in the unit square, numbered along a
/// Hilbert curve. The same n and seed give the same graph everywhere.
[[nodiscard]] Csr delaunay(std::int64_t n, std::uint64_t seed, bool along_curve = true);

}  // namespace laneway::matrix
