#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "base/bytes/ranges.hpp"

namespace laneway {

/// Where an edge's bytes lie in a block, in the edge's order, to be looked up by pieces of the block.
class Located {
 public:
  explicit Located(const RangeList& offsets) {
    std::int64_t position = 0;
    offsets.for_each([&](Range range) {
      is_ascending_ = is_ascending_ && (blocks_.empty() || blocks_.back().range.end() <= range.offset);
      blocks_.push_back({range, position});
      position += range.bytes;
    });
  }

  /// The part that lies in `piece`, and which positions of the edge's bytes it is.
  [[nodiscard]] std::pair<RangeList, RangeList> within(const Piece& piece) const {
    RangeList inside;
    RangeList intervals;
    auto block = blocks_.begin();
    if (is_ascending_)
      block = std::ranges::partition_point(blocks_, [&](const auto& b) { return b.range.end() <= piece.begin; });
    for (; block != blocks_.end() && !(is_ascending_ && block->range.offset >= piece.end); ++block) {
      const auto& [range, position] = *block;
      const std::int64_t begin = std::max(range.offset, piece.begin);
      const std::int64_t end = std::min(range.end(), piece.end);
      if (begin >= end) continue;
      inside.append(Range{begin, end - begin});
      intervals.append(Range{position + begin - range.offset, end - begin});
    }
    return {std::move(inside), std::move(intervals)};
  }

 private:
  struct Block {
    Range range;
    std::int64_t position;
  };
  std::vector<Block> blocks_;
  bool is_ascending_ = true;
};

}  // namespace laneway
