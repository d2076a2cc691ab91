#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace laneway::matrix {

/// A sparse matrix by rows. The columns of a row are sorted and unique; `row_begin` has rows + 1 entries.
struct Csr {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> row_begin{0};
  std::vector<std::int64_t> column;
  std::vector<double> value;

  [[nodiscard]] std::int64_t nonzeros() const { return static_cast<std::int64_t>(column.size()); }
  friend bool operator==(const Csr&, const Csr&) = default;
};

struct Entry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  double value = 0;
};

/// The matrix of `entries`, in any order; values at the same place are added. Indices must be in range.
[[nodiscard]] Csr assemble(std::int64_t rows, std::int64_t columns, std::span<const Entry> entries);

/// The symmetric adjacency matrix of an undirected graph, with value 1. Loops are left out, repeated edges count once.
[[nodiscard]] Csr adjacency(std::int64_t vertices, std::span<const std::pair<std::int64_t, std::int64_t>> edges);

[[nodiscard]] Csr transpose(const Csr& matrix);

/// Y = A X, where X and Y have `width` numbers in each row, one row after the other. Sums are in the order of A's rows.
void multiply(const Csr& matrix, std::span<const double> x, std::span<double> y, int width = 1);

}  // namespace laneway::matrix
