#include "plan/writer/bundles.hpp"

#include <algorithm>
#include <vector>

namespace laneway {

namespace {

std::vector<CopyRun> ascending(std::span<const CopyRun> bundle, std::int64_t CopyRun::*at) {
  std::vector<CopyRun> sorted(bundle.begin(), bundle.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const CopyRun& a, const CopyRun& b) { return a.*at < b.*at; });
  return sorted;
}

RangeList bytes_of(std::span<const CopyRun> runs, std::int64_t CopyRun::*at, std::int64_t CopyRun::*stride) {
  RangeList list;
  for_each_bundle(runs, [&](std::span<const CopyRun> bundle) {
    if (bundle.size() == 1) {
      const CopyRun& run = bundle.front();
      list.append(Run{run.*at, run.bytes, run.*stride, run.count});
      return;
    }
    RangeList once;
    for (const CopyRun& run : ascending(bundle, at)) once.append(Range{run.*at, run.bytes});
    list.append_repeated(once, bundle.front().count, bundle.front().*stride, 0);
  });
  return list;
}

}  // namespace

RangeList read_by(std::span<const CopyRun> runs) {
  return bytes_of(runs, &CopyRun::from, &CopyRun::from_stride);
}

RangeList written_by(std::span<const CopyRun> runs) {
  return bytes_of(runs, &CopyRun::to, &CopyRun::to_stride);
}

std::optional<Packed> pack(std::span<const CopyRun> bundle, std::int64_t CopyRun::*at, std::int64_t CopyRun::*stride,
                           std::int64_t CopyRun::*other_at, std::int64_t CopyRun::*other_stride) {
  const std::vector<CopyRun> blocks = ascending(bundle, at);
  const std::int64_t begin = blocks.front().*at;
  std::int64_t end = begin;
  for (const CopyRun& block : blocks) {
    if (block.*at != end) return std::nullopt;
    end += block.bytes;
  }
  const std::int64_t count = blocks.front().count;
  if (count > 1 && blocks.front().*stride != end - begin) return std::nullopt;
  RangeList once;
  for (const CopyRun& block : blocks) once.append(Range{block.*other_at, block.bytes});
  Packed packed{{begin, (end - begin) * count}, {}};
  packed.there.append_repeated(once, count, blocks.front().*other_stride, 0);
  return packed;
}

}  // namespace laneway
