// What lnw_device_kernels are to compute, by plain loops.
#pragma once

#include <laneway/device_kernels.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace laneway {

/// Y = A X with `width` columns, of a matrix with empty and long rows.
struct SparseProduct {
  explicit SparseProduct(int width) {
    std::mt19937 random(static_cast<unsigned>(width));
    std::uniform_real_distribution<double> number(-1, 1);
    constexpr int rows = 300, columns = 170;
    for (int row = 0; row < rows; ++row) {
      for (auto k = row == 7 ? 100 : random() % 6; k > 0; --k) {
        column.push_back(static_cast<std::int32_t>(random() % columns));
        value.push_back(number(random));
      }
      row_begin.push_back(static_cast<std::int64_t>(column.size()));
    }
    std::generate_n(std::back_inserter(x), columns * width, [&] { return number(random); });
    for (std::size_t row = 0; row < rows; ++row)
      for (int i = 0; i < width; ++i) {
        double sum = 0;
        for (auto k = static_cast<std::size_t>(row_begin[row]); k < static_cast<std::size_t>(row_begin[row + 1]); ++k)
          sum += value[k] * x[static_cast<std::size_t>(column[k] * width + i)];
        y.push_back(sum);
      }
    matrix = {rows, columns, row_begin.data(), column.data(), value.data()};
  }

  std::vector<std::int64_t> row_begin{0};
  std::vector<std::int32_t> column;
  std::vector<double> value, x, y;
  lnw_device_csr matrix{};
};

struct Elements {
  explicit Elements(std::size_t count) : values(count), gathered(count), scattered(count), index(count) {
    std::iota(values.begin(), values.end(), std::uint64_t{1} << 40);
    std::iota(index.begin(), index.end(), 0U);
    std::shuffle(index.begin(), index.end(), std::mt19937(3));
    for (std::size_t i = 0; i < count; ++i) {
      gathered[i] = values[index[i]];
      scattered[index[i]] = values[i];
    }
  }

  std::vector<std::uint64_t> values, gathered, scattered;
  std::vector<std::uint32_t> index;
};

}  // namespace laneway
