#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "core/ranges.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// So that what follows so many bytes in staging memory is aligned.
[[nodiscard]] constexpr std::int64_t aligned_bytes(std::int64_t bytes) {
  return (bytes + staging_alignment - 1) / staging_alignment * staging_alignment;
}

/// Which steps write what of a plan's staging memory, each byte of which is written once.
class StagingWriters {
 public:
  void add(const RangeList& ranges, int step) {
    ranges.for_each([&](Range range) { writer_[range.offset] = {range.end(), step}; });
  }

  /// Appends the steps that write some of the ranges, each at least once.
  void find(const RangeList& ranges, std::vector<int>& steps) const {
    ranges.for_each([&](Range range) {
      auto it = writer_.upper_bound(range.offset);
      if (it != writer_.begin() && std::prev(it)->second.first > range.offset) --it;
      for (; it != writer_.end() && it->first < range.end(); ++it)
        if (steps.empty() || steps.back() != it->second.second) steps.push_back(it->second.second);
    });
  }

 private:
  std::map<std::int64_t, std::pair<std::int64_t, int>> writer_;  // offset -> (end, step)
};

}  // namespace laneway
