#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "plan/end.hpp"

namespace laneway {

/// What the steps of a plan do with memory that has been written: this says which order their bytes can ask for.
enum class Reuse : std::uint8_t {
  none,  ///< each byte is written once, and only staging memory is read then: read after write
  sums,  ///< written again until somebody reads it, so that it holds sums: write after write, too
  any,   ///< read and written in any order: write after read, too
};

/// Which steps have written and read what of a rank's buffers: what a further step must come after.
class Dependencies {
 public:
  explicit Dependencies(Reuse reuse) : reuse_(reuse) {}

  /// Appends the steps to come after, each at least once, and notes that `step` reads, or writes. Of one step, reads
  /// before writes. Reading returns whether all of it has been written, if that matters.
  bool reads(Buffer buffer, Range range, int step, std::vector<int>& after);
  void writes(Buffer buffer, Range range, int step, std::vector<int>& after);
  bool reads(Buffer buffer, const RangeList& ranges, int step, std::vector<int>& after);
  void writes(Buffer buffer, const RangeList& ranges, int step, std::vector<int>& after);

  /// Calls f(Range, bool has been written) for the stretches of a range, in order.
  template <class F>
  void for_each_stretch(Buffer buffer, Range range, F&& f) const {
    const Stretches& stretches = touched_[static_cast<std::size_t>(buffer)];
    std::int64_t at = range.offset;
    for (auto it = first_behind(stretches, at); it != stretches.end() && it->first < range.end(); ++it) {
      if (at < it->first) f(Range{at, it->first - at}, false);
      at = std::max(at, it->first);
      const std::int64_t end = std::min(it->second.end, range.end());
      f(Range{at, end - at}, it->second.writer >= 0);
      at = end;
    }
    if (at < range.end()) f(Range{at, range.end() - at}, false);
  }

 private:
  struct Stretch {
    std::int64_t end = 0;
    int writer = -1;
    std::vector<int> readers;  ///< since then
  };
  using Stretches = std::map<std::int64_t, Stretch>;

  [[nodiscard]] bool looks_at(Buffer buffer) const {
    return buffer == Buffer::staging || reuse_ == Reuse::any || (buffer == Buffer::receive && reuse_ == Reuse::sums);
  }
  /// The first stretch that ends behind a place.
  template <class Map>
  static auto first_behind(Map& stretches, std::int64_t at) {
    auto it = stretches.upper_bound(at);
    if (it != stretches.begin() && std::prev(it)->second.end > at) --it;
    return it;
  }
  static Stretches::iterator cut(Stretches& stretches, Stretches::iterator it, std::int64_t at);
  static Stretches::iterator cut_begin(Stretches& stretches, std::int64_t at);

  Reuse reuse_;
  std::array<Stretches, buffer_kinds> touched_;
};

}  // namespace laneway
