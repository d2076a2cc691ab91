#include "mpi/tag_space.hpp"

#include <algorithm>
#include <iterator>

namespace laneway {

TagSpace::Ranges::const_iterator TagSpace::find(int count) const {
  return std::ranges::find_if(free_, [&](const auto& range) { return range.second - range.first >= count; });
}

std::optional<int> TagSpace::take(int count) {
  const auto range = find(count);
  if (range == free_.end()) return std::nullopt;
  const int first = range->first;
  auto rest = free_.extract(range);
  rest.key() += count;
  if (rest.key() < rest.mapped()) free_.insert(std::move(rest));
  return first;
}

void TagSpace::give_back(int first, int count) {
  if (count <= 0) return;
  auto range = free_.emplace(first, first + count).first;
  if (const auto after = std::next(range); after != free_.end() && after->first == range->second) {
    range->second = after->second;
    free_.erase(after);
  }
  if (range == free_.begin()) return;
  if (const auto before = std::prev(range); before->second == range->first) {
    before->second = range->second;
    free_.erase(range);
  }
}

}  // namespace laneway
