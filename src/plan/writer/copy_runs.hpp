#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// Pairs the bytes of two lists of equal length.
[[nodiscard]] std::vector<CopyRun> copy_runs(const RangeList& from, const RangeList& to);

[[nodiscard]] std::int64_t bytes_of(std::span<const CopyRun> runs);

/// Lets a move read from `memory`, which has its bytes one after the other from `at` on. Returns the copy that brings
/// them there.
[[nodiscard]] Step copy_first(Step& move, Buffer memory, std::int64_t at);

/// Calls f(const CopyRun&) for each block that the runs copy, in order.
template <class F>
void for_each_block(std::span<const CopyRun> runs, F&& f) {
  for (const CopyRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      f(CopyRun{run.from + i * run.from_stride, run.to + i * run.to_stride, run.bytes, 0, 0, 1});
}

}  // namespace laneway
