#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/verify/execution/program.hpp"

namespace laneway::verification {

/// A step reads or writes bytes [begin, end) of a buffer, or raises the word there.
struct Access {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int step = 0;
  bool write = false;
  bool word = false;
  int exchange = 0;  // modulo the period of the memory
};

/// Calls f(begin, end, write) for what one side of a run of copies touches. `repeats`: it may touch a byte twice.
template <class F>
void for_each_block(const CopyRun& run, std::int64_t offset, std::int64_t stride, bool write, bool repeats, F&& f) {
  const std::int64_t length = (run.count - 1) * stride;
  if (repeats && -run.bytes <= stride && stride <= run.bytes) {
    const std::int64_t begin = std::min(offset, offset + length);
    f(begin, begin + std::max(length, -length) + run.bytes, write);
    return;
  }
  // Two blocks that overlap show that a run overlaps itself as well as all do.
  const bool overlaps = !repeats && stride > -run.bytes && stride < run.bytes;
  const std::int64_t count = overlaps ? std::min<std::int64_t>(run.count, 2) : run.count;
  for (std::int64_t i = 0; i < count; ++i) f(offset + i * stride, offset + i * stride + run.bytes, write);
}

/// Calls f(begin, end, write) for what a step touches of a buffer that is its operand.
template <class F>
void for_each_read(const Step& step, F&& f) {
  for (const CopyRun& run : step.runs) for_each_block(run, run.from, run.from_stride, false, true, f);
}
template <class F>
void for_each_write(const Step& step, F&& f) {
  for (const CopyRun& run : step.runs) for_each_block(run, run.to, run.to_stride, true, combines(step), f);
}

/// Calls meet(a, b) for the pairs of accesses that share a byte and do not both read.
template <class F>
void for_each_conflict(std::vector<Access>& accesses, F&& meet) {
  std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) { return a.begin < b.begin; });
  std::vector<Access> reads;
  std::vector<Access> writes;
  const auto meet_all = [&](const Access& access, std::vector<Access>& open) {
    std::erase_if(open, [&](const Access& other) { return other.end <= access.begin; });
    for (const Access& other : open) meet(access, other);
  };
  for (const Access& access : accesses) {
    meet_all(access, writes);
    if (access.write) meet_all(access, reads);
    (access.write ? writes : reads).push_back(access);
  }
}

/// Two steps touch the same byte of a rank's memory, one of them writing, if `second` does so `later` exchanges after
/// `first`, or that and any number of periods.
struct Clash {
  int first = 0;
  int second = 0;
  int later = 0;
  int period = 1;
  Rank rank = 0;
  Buffer buffer = Buffer::window;
  std::int64_t byte = 0;
  bool over_word = false;  // one of them raises a word, where the other has data
};

/// Whether a rank's staging memory is touched by others, too.
[[nodiscard]] std::vector<bool> shared_staging(const Program& program);

/// Those in memory that ranks share: windows, and staging memory that others touch.
[[nodiscard]] std::vector<Clash> find_clashes(const Program& program);

}  // namespace laneway::verification
