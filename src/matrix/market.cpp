#include <Eigen/SparseCore>
#include <algorithm>
#include <cctype>
#include <limits>
#include <unsupported/Eigen/SparseExtra>

#include "base/error.hpp"
#include "matrix/load.hpp"
#include "matrix/text.hpp"

// The format: R. F. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935,
// 1996. Eigen 3.4 assembles and writes it here but does not read it: its loadMarket leaves the values of a pattern file
// uninitialised, does not fill in the other triangle of a symmetric one, reports a bad or missing entry on stderr only
// and goes on, and its getMarketHeader asserts on an empty file and does not know skew-symmetric.

namespace laneway::matrix {

namespace {

enum class Field { real, pattern };
enum class Symmetry { general, symmetric, skew };

struct Banner {
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
};

std::string lower(std::string_view word) {
  std::string result(word);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

Banner read_banner(Lines& lines, const std::string& path) {
  if (!lines.next() || lower(lines.word()) != "%%matrixmarket")
    fail(path, 1, "not a Matrix Market file: the first line must begin with %%MatrixMarket");
  const std::string object = lower(lines.word());
  const std::string format = lower(lines.word());
  const std::string field = lower(lines.word());
  const std::string symmetry = lower(lines.word());
  if (object != "matrix") fail(path, 1, "holds a '" + object + "', not a matrix");
  if (format != "coordinate") fail(path, 1, "format '" + format + "' is not read, only coordinate (sparse) is");
  Banner banner;
  if (field == "pattern")
    banner.field = Field::pattern;
  else if (field != "real" && field != "integer" && field != "double")
    fail(path, 1, "values of type '" + field + "' are not read, only real, integer and pattern are");
  if (symmetry == "symmetric" || symmetry == "hermitian")
    banner.symmetry = Symmetry::symmetric;
  else if (symmetry == "skew-symmetric")
    banner.symmetry = Symmetry::skew;
  else if (symmetry != "general")
    fail(path, 1, "unknown symmetry '" + symmetry + "': general, symmetric, skew-symmetric or hermitian");
  return banner;
}

struct Size {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;
};

Size read_size(Lines& lines, const Banner& banner, std::size_t bytes, const std::string& path) {
  Size size;
  if (!lines.next_content()) fail(path, lines.number(), "ends before the line with rows, columns and entries");
  const bool three = parse_number(lines.word(), size.rows) && parse_number(lines.word(), size.columns) &&
                     parse_number(lines.word(), size.entries) && lines.word().empty();
  if (!three || size.rows < 0 || size.columns < 0 || size.entries < 0)
    fail(path, lines.number(), "expected rows, columns and entries, three whole numbers");
  if (std::max(size.rows, size.columns) > std::numeric_limits<std::int32_t>::max())
    fail(path, lines.number(), "more than 2^31 - 1 rows or columns");
  check_size(path, lines.number(), std::max(size.rows, size.columns), bytes);
  if (banner.symmetry != Symmetry::general && size.rows != size.columns)
    fail(path, lines.number(),
         "a symmetric matrix must be square, this one has " + std::to_string(size.rows) + " rows and " +
             std::to_string(size.columns) + " columns");
  return size;
}

/// Rows and columns from 0.
Entry read_entry(Lines& lines, Field field, const Size& size, const std::string& path) {
  Entry entry;
  entry.value = 1.0;
  if (!parse_number(lines.word(), entry.row) || !parse_number(lines.word(), entry.column))
    fail(path, lines.number(), "expected a row and a column");
  if (field == Field::real && !parse_number(lines.word(), entry.value))
    fail(path, lines.number(), "expected row, column and value");
  if (!lines.word().empty()) fail(path, lines.number(), "more words than an entry has");
  if (entry.row < 1 || entry.row > size.rows || entry.column < 1 || entry.column > size.columns)
    fail(path, lines.number(),
         "entry (" + std::to_string(entry.row) + ", " + std::to_string(entry.column) + ") is outside a matrix of " +
             std::to_string(size.rows) + " rows and " + std::to_string(size.columns) + " columns");
  --entry.row;
  --entry.column;
  return entry;
}

}  // namespace

Csr read_market(const std::string& path) {
  return market_from_text(read_file(path), path);
}

Csr market_from_text(std::string_view text, const std::string& path) {
  Lines lines(text);
  const Banner banner = read_banner(lines, path);
  const Size size = read_size(lines, banner, text.size(), path);
  // An entry takes four bytes at least ("1 1\n"), so a count that is plainly false reserves no memory.
  constexpr std::int64_t smallest_entry = 4;
  const std::int64_t possible = static_cast<std::int64_t>(text.size()) / smallest_entry + 1;
  std::vector<Entry> entries;
  entries.reserve(
      static_cast<std::size_t>(std::min(size.entries, possible) * (banner.symmetry == Symmetry::general ? 1 : 2)));

  const bool skew = banner.symmetry == Symmetry::skew;
  std::int64_t found = 0;
  for (; lines.next_content(); ++found) {
    if (found == size.entries)
      fail(path, lines.number(), "more than the " + std::to_string(size.entries) + " entries announced");
    const Entry entry = read_entry(lines, banner.field, size, path);
    entries.push_back(entry);
    if (banner.symmetry == Symmetry::general) continue;
    if (entry.row != entry.column)
      entries.push_back({entry.column, entry.row, skew ? -entry.value : entry.value});
    else if (skew && entry.value != 0)
      fail(path, lines.number(), "a skew-symmetric matrix has no diagonal");
  }
  if (found != size.entries)
    fail(path, lines.number(),
         "ends after " + std::to_string(found) + " of " + std::to_string(size.entries) + " entries");

  Csr result = assemble(size.rows, size.columns, entries);
  if (banner.field == Field::pattern && !skew) result.value.assign(result.value.size(), 1.0);
  return result;
}

void write_market(const Csr& matrix, const std::string& path) {
  using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>;
  // saveMarket wants a plain matrix, not a map.
  const Sparse copy = Eigen::Map<const Sparse>(matrix.rows, matrix.columns, matrix.nonzeros(), matrix.row_begin.data(),
                                               matrix.column.data(), matrix.value.data());
  if (!Eigen::saveMarket(copy, path)) fail(path, 0, "cannot be written");
}

}  // namespace laneway::matrix
