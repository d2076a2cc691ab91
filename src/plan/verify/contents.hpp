#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/bytes/types.hpp"

namespace laneway::verification {

/// Bytes [begin, end) of a buffer hold the bytes from `from` on of the send buffer of `rank` in an exchange.
struct Origin {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Rank rank = 0;
  std::int64_t from = 0;
  int exchange = 1;

  [[nodiscard]] Origin part(std::int64_t part_begin, std::int64_t part_end) const {
    return {part_begin, part_end, rank, from + part_begin - begin, exchange};
  }
  [[nodiscard]] bool continued_by(const Origin& next) const {
    return next.begin == end && next.rank == rank && next.exchange == exchange && next.from == from + end - begin;
  }
  friend bool operator==(const Origin&, const Origin&) = default;
};

/// Appends to a list in ascending order, joining what belongs together, so that equal contents are equal lists.
void append_joined(std::vector<Origin>& list, const Origin& next);

/// Where the bytes of one buffer come from.
class Contents {
 public:
  [[nodiscard]] const std::vector<Origin>& known() const { return known_; }

  /// Calls f(Origin) for the known parts of [begin, end), ascending; returns whether all of it is known.
  template <class F>
  bool read(std::int64_t begin, std::int64_t end, F&& f) const {
    std::int64_t at = begin;
    bool whole = true;
    for (auto it = first_after(begin); it != known_.end() && it->begin < end; ++it) {
      const std::int64_t from = std::max(it->begin, begin);
      const std::int64_t to = std::min(it->end, end);
      whole = whole && from == at;
      f(it->part(from, to));
      at = to;
    }
    return whole && at >= end;
  }

  /// Writes all parts in their order. Sorts `parts` where that changes nothing.
  void write(std::vector<Origin>& parts);

  void clear() { known_.clear(); }

 private:
  [[nodiscard]] std::vector<Origin>::const_iterator first_after(std::int64_t begin) const {
    return std::partition_point(known_.begin(), known_.end(), [&](const Origin& o) { return o.end <= begin; });
  }
  void write_sorted(const Origin* first, const Origin* last);

  std::vector<Origin> known_;   // ascending, disjoint, joined
  std::vector<Origin> kept_;    // scratch
  std::vector<Origin> merged_;  // scratch
};

}  // namespace laneway::verification
