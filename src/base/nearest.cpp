#include "base/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace laneway {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  std::vector<int> next(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j] + (a[i] == b[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

std::vector<std::string_view> nearest_first(std::string_view text, std::vector<std::string_view> names) {
  std::vector<std::pair<int, std::string_view>> by_distance;
  for (const std::string_view name : names) by_distance.emplace_back(edit_distance(text, name), name);
  std::ranges::stable_sort(by_distance, {}, &std::pair<int, std::string_view>::first);
  std::ranges::transform(by_distance, names.begin(), &std::pair<int, std::string_view>::second);
  return names;
}

bool is_near(std::string_view text, std::string_view name) {
  return edit_distance(text, name) <= 3;
}

}  // namespace laneway
