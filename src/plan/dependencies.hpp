#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "core/ranges.hpp"
#include "plan/end.hpp"

namespace laneway {

/// Which steps have written and read what of a rank's buffers: what a further step must come after. Read after write,
/// write after read, write after write.
class Dependencies {
 public:
  /// Appends the steps to come after, each at least once, and notes that `step` reads, or writes. Of one step, reads
  /// before writes.
  void reads(Buffer buffer, const RangeList& ranges, int step, std::vector<int>& after);
  void writes(Buffer buffer, const RangeList& ranges, int step, std::vector<int>& after);

 private:
  struct Stretch {
    std::int64_t end = 0;
    int writer = -1;
    std::vector<int> readers;  ///< since then
  };
  using Stretches = std::map<std::int64_t, Stretch>;
  /// Cut at both ends, so that stretches are inside or outside of the range.
  static void cut(Stretches& stretches, std::int64_t at);

  std::array<Stretches, buffer_kinds> touched_;
};

}  // namespace laneway
