// Graphs in the format of METIS and Chaco.
#include <string>

#include "fuzz.hpp"
#include "matrix/load.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laneway;
  matrix::Csr read;
  if (!fuzz::accepts([&] { read = matrix::graph_from_text(std::string(fuzz::text_of(data, size)), "input"); }))
    return 0;
  fuzz::expect(matrix::transpose(read) == read, "a graph is not symmetric");
  std::string text = std::to_string(read.rows) + " " + std::to_string((read.nonzeros() - read.rows) / 2) + "\n";
  for (std::int64_t row = 0; row < read.rows; ++row) {
    for (std::int64_t k = read.row_begin[static_cast<std::size_t>(row)];
         k < read.row_begin[static_cast<std::size_t>(row) + 1]; ++k)
      if (const std::int64_t column = read.column[static_cast<std::size_t>(k)]; column != row)
        text += std::to_string(column + 1) + " ";
    text += "\n";
  }
  fuzz::expect(matrix::graph_from_text(text, "again") == read, "a graph changes when it is written and read");
  return 0;
}
