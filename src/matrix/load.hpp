#pragma once

#include <string>
#include <string_view>

#include "matrix/csr.hpp"

namespace laneway::matrix {

/// A Matrix Market file: `coordinate`; real, integer or pattern (all values 1); general, symmetric, skew-symmetric or
/// (real) hermitian, both triangles of which are filled in. Repeated entries are added. Throws Error(ErrorKind::io)
/// naming file and line,
/// also where a matrix would take far more memory than its file: there are 2^20 more rows or columns than bytes.
[[nodiscard]] Csr read_market(const std::string& path);
/// The same from a text; `path` is what errors name.
[[nodiscard]] Csr market_from_text(std::string_view text, const std::string& path);

/// Writes `coordinate real general`, with as many digits as a double needs.
void write_market(const Csr& matrix, const std::string& path);

/// An undirected graph in the METIS/Chaco format as the matrix L + I of its unweighted Laplacian L: -1 for an edge,
/// degree + 1 on the diagonal. Weights in the file are read over. Throws Error(ErrorKind::io) naming file and line.
[[nodiscard]] Csr read_graph(const std::string& path);
[[nodiscard]] Csr graph_from_text(std::string text, const std::string& path);

/// A matrix from a file (`.mtx`, `.graph`) or a generator, as in `delaunay:n=131072,seed=1`.
[[nodiscard]] Csr load(std::string_view spec);

}  // namespace laneway::matrix
