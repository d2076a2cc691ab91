#include "matrix/csr.hpp"

#include <Eigen/SparseCore>
#include <utility>

#include "base/error.hpp"

namespace laneway::matrix {

namespace {

using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>;

Csr to_csr(Sparse matrix) {
  matrix.makeCompressed();
  Csr result;
  result.rows = matrix.rows();
  result.columns = matrix.cols();
  result.row_begin.assign(matrix.outerIndexPtr(), matrix.outerIndexPtr() + matrix.outerSize() + 1);
  result.column.assign(matrix.innerIndexPtr(), matrix.innerIndexPtr() + matrix.nonZeros());
  result.value.assign(matrix.valuePtr(), matrix.valuePtr() + matrix.nonZeros());
  return result;
}

}  // namespace

Csr assemble(std::int64_t rows, std::int64_t columns, std::span<const Entry> entries) {
  using Triplet = Eigen::Triplet<double, std::int64_t>;
  std::vector<Triplet> triplets;
  triplets.reserve(entries.size());
  for (const Entry& entry : entries) {
    LANEWAY_ASSERT(entry.row >= 0 && entry.row < rows && entry.column >= 0 && entry.column < columns);
    triplets.emplace_back(entry.row, entry.column, entry.value);
  }
  Sparse matrix(rows, columns);
  matrix.setFromTriplets(triplets.begin(), triplets.end());
  return to_csr(std::move(matrix));  // NOLINT(performance-move-const-arg): Eigen 3.4 copies
}

Csr adjacency(std::int64_t vertices, std::span<const std::pair<std::int64_t, std::int64_t>> edges) {
  std::vector<Entry> entries;
  entries.reserve(2 * edges.size());
  for (auto [a, b] : edges) {
    if (a == b) continue;
    entries.push_back({a, b, 1.0});
    entries.push_back({b, a, 1.0});
  }
  Csr result = assemble(vertices, vertices, entries);
  result.value.assign(result.value.size(), 1.0);
  return result;
}

Csr transpose(const Csr& matrix) {
  const Eigen::Map<const Sparse> view(matrix.rows, matrix.columns, matrix.nonzeros(), matrix.row_begin.data(),
                                      matrix.column.data(), matrix.value.data());
  return to_csr(Sparse(view.transpose()));
}

void multiply(const Csr& matrix, std::span<const double> x, std::span<double> y, int width) {
  LANEWAY_ASSERT(static_cast<std::int64_t>(x.size()) >= matrix.columns * width);
  LANEWAY_ASSERT(static_cast<std::int64_t>(y.size()) >= matrix.rows * width);
  const std::int64_t* column = matrix.column.data();
  const double* value = matrix.value.data();
  const std::int64_t* begin = matrix.row_begin.data();
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    for (int i = 0; i < width; ++i) {
      double sum = 0;
      for (std::int64_t k = begin[row]; k < begin[row + 1]; ++k) sum += value[k] * x[column[k] * width + i];
      y[row * width + i] = sum;
    }
}

}  // namespace laneway::matrix
