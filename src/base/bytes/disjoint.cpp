#include "base/bytes/disjoint.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace laneway {

namespace {

/// Blocks at a constant distance.
struct Comb {
  std::int64_t begin = 0;   ///< of the lowest block
  std::int64_t end = 0;     ///< of the highest one
  std::int64_t bytes = 0;   ///< of each
  std::int64_t stride = 0;  ///< 0: one block
};

Comb comb_of(const Run& run) {
  const std::int64_t last = run.offset + (run.count - 1) * run.stride;
  return {std::min(run.offset, last), std::max(run.offset, last) + run.bytes, run.bytes,
          run.count > 1 ? std::abs(run.stride) : 0};
}

/// A comb of a run's blocks; if the run is repeated, of all that lies between its first and its last block. Nothing
/// where blocks may overlap.
std::optional<Comb> comb_of(const Run& run, const Repeat& repeat) {
  const Comb once = comb_of(run);
  if (once.stride != 0 ? once.stride < run.bytes : run.count > 1) return std::nullopt;
  if (repeat.count == 1) return once;
  const std::int64_t last = (repeat.count - 1) * repeat.stride;
  const Comb all{once.begin + std::min(last, std::int64_t{0}), once.end + std::max(last, std::int64_t{0}),
                 once.end - once.begin, std::abs(repeat.stride)};
  return all.stride < all.bytes ? std::nullopt : std::optional(all);
}

/// Combs that lie in each other's gaps: all of one stride, so that where they begin modulo that tells them apart.
class Interleaved {
 public:
  explicit Interleaved(const Comb& first) : end_(first.end), combs_{first}, stride_(first.stride) {}

  [[nodiscard]] std::int64_t end() const { return end_; }
  void add(const Comb& comb) {
    end_ = std::max(end_, comb.end);
    if (stride_ == 0) stride_ = comb.stride;
    one_stride_ = one_stride_ && (comb.stride == 0 || comb.stride == stride_);
    combs_.push_back(comb);
  }
  [[nodiscard]] bool disjoint() const {
    if (combs_.size() == 1) return true;
    if (!one_stride_ || stride_ == 0) return false;
    std::vector<Range> places;
    std::int64_t bytes = 0;
    for (const Comb& comb : combs_) {
      if (comb.bytes > stride_) return false;
      const std::int64_t begin = ((comb.begin % stride_) + stride_) % stride_;
      const std::int64_t before_end = std::min(comb.bytes, stride_ - begin);
      places.push_back({begin, before_end});
      places.push_back({0, comb.bytes - before_end});
      bytes += comb.bytes;
    }
    return RangeSet(std::move(places)).bytes() == bytes;
  }

 private:
  std::int64_t end_;
  std::vector<Comb> combs_;
  std::int64_t stride_;
  bool one_stride_ = true;
};

}  // namespace

Range hull(const RangeList& list) {
  if (list.empty()) return {};
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  list.for_each_repeat([&](const Repeat& repeat) {
    const std::int64_t last = (repeat.count - 1) * repeat.stride;
    for (const Run& run : repeat.runs) {
      const Comb comb = comb_of(run);
      begin = std::min(begin, comb.begin + std::min(last, std::int64_t{0}));
      end = std::max(end, comb.end + std::max(last, std::int64_t{0}));
    }
  });
  return {begin, end - begin};
}

bool surely_disjoint(std::span<const RangeList* const> lists) {
  std::vector<Comb> combs;
  bool apart = true;
  for (const RangeList* list : lists)
    list->for_each_repeat([&](const Repeat& repeat) {
      for (const Run& run : repeat.runs) {
        const std::optional<Comb> comb = comb_of(run, repeat);
        apart = apart && comb;
        if (comb) combs.push_back(*comb);
      }
    });
  if (!apart) return false;
  std::sort(combs.begin(), combs.end(), [](const Comb& a, const Comb& b) { return a.begin < b.begin; });
  std::optional<Interleaved> open;
  for (const Comb& comb : combs) {
    if (open && comb.begin < open->end()) {
      open->add(comb);
      continue;
    }
    if (open && !open->disjoint()) return false;
    open.emplace(comb);
  }
  return !open || open->disjoint();
}

}  // namespace laneway
