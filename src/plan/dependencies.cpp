#include "plan/dependencies.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace laneway {

void Dependencies::cut(Stretches& stretches, std::int64_t at) {
  auto it = stretches.lower_bound(at);
  if (it == stretches.begin()) return;
  --it;
  if (it->second.end <= at) return;
  Stretch rest = it->second;
  it->second.end = at;
  stretches.emplace(at, std::move(rest));
}

void Dependencies::reads(Buffer buffer, const RangeList& ranges, int step, std::vector<int>& after) {
  Stretches& stretches = touched_[static_cast<std::size_t>(buffer)];
  ranges.for_each([&](Range range) {
    cut(stretches, range.offset);
    cut(stretches, range.end());
    std::int64_t at = range.offset;
    auto it = stretches.lower_bound(range.offset);
    while (at < range.end()) {
      if (it == stretches.end() || it->first > at) {  // nobody has touched it yet
        const std::int64_t end = it == stretches.end() ? range.end() : std::min(it->first, range.end());
        it = stretches.emplace_hint(it, at, Stretch{end, -1, {step}});
      } else {
        Stretch& stretch = it->second;
        if (stretch.writer >= 0 && stretch.writer != step) after.push_back(stretch.writer);
        if (stretch.readers.empty() || stretch.readers.back() != step) stretch.readers.push_back(step);
      }
      at = it->second.end;
      ++it;
    }
  });
}

void Dependencies::writes(Buffer buffer, const RangeList& ranges, int step, std::vector<int>& after) {
  Stretches& stretches = touched_[static_cast<std::size_t>(buffer)];
  ranges.for_each([&](Range range) {
    cut(stretches, range.offset);
    cut(stretches, range.end());
    auto it = stretches.lower_bound(range.offset);
    while (it != stretches.end() && it->first < range.end()) {
      const Stretch& stretch = it->second;
      if (stretch.writer >= 0 && stretch.writer != step) after.push_back(stretch.writer);
      for (const int reader : stretch.readers)
        if (reader != step) after.push_back(reader);
      it = stretches.erase(it);
    }
    stretches.emplace_hint(it, range.offset, Stretch{range.end(), step, {}});
  });
}

}  // namespace laneway
