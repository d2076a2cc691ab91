#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace laneway {

/// Appends a block to runs, whose order stays: it becomes a part of the last one where it goes on as that does.
inline void append_run(std::vector<CopyRun>& runs, const CopyRun& block) {
  if (runs.empty()) return runs.push_back(block);
  CopyRun& last = runs.back();
  if (last.count == 1 && last.from + last.bytes == block.from && last.to + last.bytes == block.to) {
    last.bytes += block.bytes;
    return;
  }
  const std::int64_t from_step = block.from - last.from;
  const std::int64_t to_step = block.to - last.to;
  const bool second = last.count == 1 && last.bytes == block.bytes;
  const bool next =
      last.bytes == block.bytes && from_step == last.count * last.from_stride && to_step == last.count * last.to_stride;
  if (!second && !next) return runs.push_back(block);
  if (second) {
    last.from_stride = from_step;
    last.to_stride = to_step;
  }
  ++last.count;
}

}  // namespace laneway
