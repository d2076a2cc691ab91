#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes/ranges.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// Calls f(runs) for each bundle: runs next to each other that take the same strides equally often, which are the
/// blocks of one thing that is copied again and again. A run like no neighbour is a bundle of its own.
template <class F>
void for_each_bundle(std::span<const CopyRun> runs, F&& f) {
  for (std::size_t begin = 0; begin < runs.size();) {
    const CopyRun& first = runs[begin];
    std::size_t end = begin + 1;
    while (first.count > 1 && end < runs.size() && runs[end].count == first.count &&
           runs[end].from_stride == first.from_stride && runs[end].to_stride == first.to_stride)
      ++end;
    f(runs.subspan(begin, end - begin));
    begin = end;
  }
}

/// The bytes that copy runs read. The order is not that of the runs where they are the blocks of a bundle.
[[nodiscard]] RangeList read_by(std::span<const CopyRun> runs);
/// Those that they write.
[[nodiscard]] RangeList written_by(std::span<const CopyRun> runs);

/// A bundle whose bytes lie together on one side.
struct Packed {
  Range here;
  RangeList there;  ///< the same bytes on the other side
};
/// Nothing if they do not. First the place and the stride on this side, then on the other one.
[[nodiscard]] std::optional<Packed> pack(std::span<const CopyRun> bundle, std::int64_t CopyRun::*at,
                                         std::int64_t CopyRun::*stride, std::int64_t CopyRun::*other_at,
                                         std::int64_t CopyRun::*other_stride);

}  // namespace laneway
