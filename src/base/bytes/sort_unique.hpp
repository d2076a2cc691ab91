#pragma once

#include <algorithm>
#include <vector>

namespace laneway {

/// Ascending, each once.
template <class T>
void sort_unique(std::vector<T>& values) {
  std::ranges::sort(values);
  // Not std::ranges::unique: clang 14 cannot compile the range that libstdc++ returns from it.
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace laneway
