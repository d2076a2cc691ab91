// Matrix Market files.
#include <cinttypes>
#include <cmath>
#include <string>

#include "fuzz.hpp"
#include "matrix/halo.hpp"
#include "matrix/load.hpp"

namespace {

using namespace laneway;

std::string printed(const matrix::Csr& matrix) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(matrix.rows) + " " +
                     std::to_string(matrix.columns) + " " + std::to_string(matrix.nonzeros()) + "\n";
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t k = matrix.row_begin[static_cast<std::size_t>(row)];
         k < matrix.row_begin[static_cast<std::size_t>(row) + 1]; ++k) {
      char line[96];
      std::snprintf(line, sizeof line, "%" PRId64 " %" PRId64 " %.17g\n", row + 1,
                    matrix.column[static_cast<std::size_t>(k)] + 1, matrix.value[static_cast<std::size_t>(k)]);
      text += line;
    }
  return text;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  matrix::Csr read;
  if (!fuzz::accepts([&] { read = matrix::market_from_text(fuzz::text_of(data, size), "input"); })) return 0;
  if (read.rows > 4096 || read.columns > 4096) return 0;  // what follows takes as long as there are rows
  bool numbers = true;
  for (const double value : read.value) numbers = numbers && !std::isnan(value);
  if (numbers && read.rows > 0)
    fuzz::expect(matrix::market_from_text(printed(read), "again") == read,
                 "a matrix changes when it is written and read");
  for (const int ranks : {1, 3}) {
    std::int64_t rows = 0;
    for (const matrix::Halo& halo : matrix::halos(read, ranks)) rows += halo.local.rows;
    fuzz::expect(rows == read.rows, "ranks have other rows than the matrix");
  }
  return 0;
}
