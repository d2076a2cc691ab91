#include "plan/writer/copy_runs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace laneway {

namespace {

/// Copy runs, one block after the other; blocks that go on as those before are one run.
class Runs {
 public:
  void add(std::int64_t from, std::int64_t to, std::int64_t bytes) {
    if (!runs_.empty() && runs_.back().bytes == bytes) {
      CopyRun& last = runs_.back();
      const std::int64_t from_step = from - last.from;
      const std::int64_t to_step = to - last.to;
      if (last.count == 1) {
        last.from_stride = from_step;
        last.to_stride = to_step;
      }
      if (from_step == last.count * last.from_stride && to_step == last.count * last.to_stride) {
        ++last.count;
        return;
      }
    }
    runs_.push_back({from, to, bytes, 0, 0, 1});
  }

  /// A run with strides for each block of `once`, or once after the other if that is less.
  void add_repeated(const std::vector<CopyRun>& once, std::int64_t count, std::int64_t from_stride,
                    std::int64_t to_stride) {
    if (once.size() == 1 && once.front().count == 1) return add_equal(once.front(), count, from_stride, to_stride);
    for (const CopyRun& run : once) {
      const auto part = [&](std::int64_t i, std::int64_t from_step, std::int64_t to_step, std::int64_t from_stride_of,
                            std::int64_t to_stride_of, std::int64_t count_of) {
        runs_.push_back(
            {run.from + i * from_step, run.to + i * to_step, run.bytes, from_stride_of, to_stride_of, count_of});
      };
      if (run.count <= count)
        for (std::int64_t i = 0; i < run.count; ++i)
          part(i, run.from_stride, run.to_stride, from_stride, to_stride, count);
      else
        for (std::int64_t i = 0; i < count; ++i)
          part(i, from_stride, to_stride, run.from_stride, run.to_stride, run.count);
    }
  }

  [[nodiscard]] std::vector<CopyRun> take() { return std::move(runs_); }

 private:
  void add_equal(const CopyRun& block, std::int64_t count, std::int64_t from_stride, std::int64_t to_stride) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t from = block.from + i * from_stride;
      add(from, block.to + i * to_stride, block.bytes);
      CopyRun& last = runs_.back();
      const bool is_fresh = last.count == 1 && last.from == from;
      const bool goes_on = last.count > 1 && last.from_stride == from_stride && last.to_stride == to_stride;
      if (!is_fresh && !goes_on) continue;
      const std::int64_t left = count - i - 1;
      if (left == 0) return;
      last.from_stride = from_stride;
      last.to_stride = to_stride;
      last.count += left;
      return;
    }
  }

  std::vector<CopyRun> runs_;
};

/// Calls f(offset in a, offset in b, bytes) for the next bytes of both.
template <class F>
void for_each_pair(BlockCursor& a, BlockCursor& b, std::int64_t bytes, F&& f) {
  while (bytes > 0) {
    const Range from = a.rest();
    const Range to = b.rest();
    const std::int64_t n = std::min({bytes, from.bytes, to.bytes});
    f(from.offset, to.offset, n);
    a.advance(n);
    b.advance(n);
    bytes -= n;
  }
}

/// What two lists have in common from here on, again and again.
struct Common {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  std::int64_t from_times = 0;  ///< periods of each side in one of these
  std::int64_t to_times = 0;
  std::int64_t from_stride = 0;
  std::int64_t to_stride = 0;
};

/// So few blocks are copied fastest one after the other.
constexpr std::int64_t few_blocks = 128;
/// What has more blocks is not looked at as one thing.
constexpr std::int64_t most_blocks_in_common = 4096;

Common in_common(const BlockCursor::Period& from, const BlockCursor::Period& to) {
  if ((from.of_group && from.count < 2) || (to.of_group && to.count < 2)) return {};
  const bool is_block_of_from = from.count == 1;
  const bool is_block_of_to = to.count == 1;
  if (is_block_of_from == is_block_of_to && from.bytes != to.bytes && !from.of_group && !to.of_group) return {};
  if (is_block_of_from && is_block_of_to) return {};
  if ((is_block_of_to && !from.at_begin) || (is_block_of_from && !to.at_begin)) return {};
  if (is_block_of_to) return {from.bytes, std::min(from.count, to.bytes / from.bytes), 1, 0, from.stride, from.bytes};
  if (is_block_of_from) return {to.bytes, std::min(to.count, from.bytes / to.bytes), 0, 1, to.bytes, to.stride};
  const std::int64_t shared = std::gcd(from.bytes, to.bytes);
  const std::int64_t from_times = to.bytes / shared;
  const std::int64_t to_times = from.bytes / shared;
  if (from_times > from.count || to_times > to.count || from_times * from.blocks > most_blocks_in_common ||
      to_times * to.blocks > most_blocks_in_common)
    return {};
  return {from.bytes * from_times,
          std::min(from.count / from_times, to.count / to_times),
          from_times,
          to_times,
          from.stride * from_times,
          to.stride * to_times};
}

/// Over so many bytes, of which `period` has some whole ones; a block that is longer is left in its middle.
void skip(BlockCursor& cursor, const BlockCursor::Period& period, std::int64_t times, std::int64_t bytes) {
  if (times == 0)
    cursor.advance(bytes);
  else
    cursor.skip(period, times);
}

}  // namespace

std::vector<CopyRun> copy_runs(const RangeList& from, const RangeList& to) {
  LANEWAY_ASSERT(from.bytes() == to.bytes());
  Runs runs;
  const auto add = [&](std::int64_t source, std::int64_t target, std::int64_t bytes) {
    runs.add(source, target, bytes);
  };
  BlockCursor source(from);
  BlockCursor target(to);
  while (!source.done()) {
    const BlockCursor::Period source_period = source.period(most_blocks_in_common);
    const BlockCursor::Period target_period = target.period(most_blocks_in_common);
    const Common common = in_common(source_period, target_period);
    const std::int64_t blocks =
        common.count * std::max(source_period.blocks * common.from_times, target_period.blocks * common.to_times);
    const bool of_group = source_period.of_group || target_period.of_group;
    if (common.count < 2 || (of_group && blocks <= few_blocks)) {
      for_each_pair(source, target, std::min(source.rest().bytes, target.rest().bytes), add);
      continue;
    }
    Runs once;
    BlockCursor source_once = source;
    BlockCursor target_once = target;
    for_each_pair(source_once, target_once, common.bytes,
                  [&](std::int64_t at, std::int64_t there, std::int64_t bytes) { once.add(at, there, bytes); });
    runs.add_repeated(once.take(), common.count, common.from_stride, common.to_stride);
    skip(source, source_period, common.from_times * common.count, common.bytes * common.count);
    skip(target, target_period, common.to_times * common.count, common.bytes * common.count);
  }
  return runs.take();
}

std::int64_t bytes_of(std::span<const CopyRun> runs) {
  std::int64_t bytes = 0;
  for (const CopyRun& run : runs) bytes += run.bytes * run.count;
  return bytes;
}

Step copy_first(Step& move, Buffer memory, std::int64_t at) {
  Step copy;
  copy.stage = move.stage;
  copy.from = std::exchange(move.from, memory);
  copy.to = memory;
  for (CopyRun& run : move.runs) {
    copy.runs.push_back({run.from, at, run.bytes, run.from_stride, run.bytes, run.count});
    run.from = at;
    run.from_stride = run.bytes;
    at += run.bytes * run.count;
  }
  return copy;
}

}  // namespace laneway
