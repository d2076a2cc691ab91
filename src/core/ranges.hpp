#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace laneway {

/// `bytes` bytes from `offset`, relative to the buffer argument of the operation. Offsets may be negative.
struct Range {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;

  [[nodiscard]] std::int64_t end() const { return offset + bytes; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// `count` blocks of `bytes` bytes, the first at `offset`, each `stride` bytes after the one before.
struct Run {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t stride = 0;
  std::int64_t count = 1;

  friend bool operator==(const Run&, const Run&) = default;
};

/// An ordered list of byte ranges, run-length compressed. The order is the order of the bytes in a message; a byte may
/// be named more than once. Adjacent ranges are joined, so the same byte sequence appended block by block always
/// compares equal.
class RangeList {
 public:
  RangeList() = default;
  RangeList(std::initializer_list<Range> ranges);

  /// Elements `indices[i]` of `element_bytes` bytes each, in that order.
  static RangeList from_indices(std::span<const std::int64_t> indices, std::int64_t element_bytes);

  void append(Range range);
  void append(const Run& run);
  void append(const RangeList& other, std::int64_t shift = 0);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  [[nodiscard]] std::int64_t blocks() const;

  /// The one range that this list is, if it is contiguous (an empty list is the range {0, 0}).
  [[nodiscard]] std::optional<Range> contiguous() const;

  /// Calls f(Range) for each block, in order.
  template <class F>
  void for_each(F&& f) const {
    for (const Run& run : runs_)
      for (std::int64_t i = 0; i < run.count; ++i) f(Range{run.offset + i * run.stride, run.bytes});
  }

  /// The bytes at positions [begin, begin + bytes) of the sequence that this list names.
  [[nodiscard]] RangeList slice(std::int64_t begin, std::int64_t bytes) const;

  friend bool operator==(const RangeList&, const RangeList&) = default;

 private:
  friend class Slicer;
  /// `position`: that of the first byte of run `first`.
  [[nodiscard]] RangeList slice(std::int64_t begin, std::int64_t bytes, std::size_t first, std::int64_t position) const;

  std::vector<Run> runs_;
  std::int64_t bytes_ = 0;
};

/// For many slices of one list, which must outlive it: the cost of each grows with its own runs, not with the list's.
class Slicer {
 public:
  explicit Slicer(const RangeList& list);
  [[nodiscard]] RangeList slice(std::int64_t begin, std::int64_t bytes) const;

 private:
  const RangeList& list_;
  std::vector<std::int64_t> begin_;  // by run
};

/// Calls f(offset in a, offset in b, bytes) for the blocks that two lists of equal length have in common, in order.
template <class F>
void for_each_pair(const RangeList& a, const RangeList& b, F&& f) {
  std::size_t run = 0;
  std::int64_t block = 0;
  std::int64_t used = 0;
  a.for_each([&](Range range) {
    while (range.bytes > 0) {
      const Run& other = b.runs()[run];
      const std::int64_t bytes = range.bytes < other.bytes - used ? range.bytes : other.bytes - used;
      f(range.offset, other.offset + block * other.stride + used, bytes);
      range = {range.offset + bytes, range.bytes - bytes};
      used += bytes;
      if (used < other.bytes) continue;
      used = 0;
      if (++block < other.count) continue;
      block = 0;
      ++run;
    }
  });
}

/// A set of bytes in canonical form: sorted, disjoint, adjacent ranges joined.
class RangeSet {
 public:
  RangeSet() = default;
  RangeSet(std::initializer_list<Range> ranges);
  explicit RangeSet(std::vector<Range> ranges);
  explicit RangeSet(const RangeList& list);

  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] bool contains(Range range) const;
  [[nodiscard]] RangeList list() const;

  friend RangeSet unite(const RangeSet& a, const RangeSet& b);
  friend RangeSet intersect(const RangeSet& a, const RangeSet& b);
  friend RangeSet subtract(const RangeSet& a, const RangeSet& b);
  friend bool operator==(const RangeSet&, const RangeSet&) = default;

 private:
  std::vector<Range> ranges_;
};

/// Positions of bytes in the canonical order of a set: the set laid out as one block.
class Block {
 public:
  explicit Block(RangeSet set);

  [[nodiscard]] const RangeSet& set() const { return set_; }
  [[nodiscard]] std::int64_t bytes() const { return begin_.back(); }

  /// Where the bytes of `list` (all in the set) lie in the block, in the order of `list`.
  [[nodiscard]] RangeList locate(const RangeList& list) const;

 private:
  RangeSet set_;
  std::vector<std::int64_t> begin_;
};

[[nodiscard]] std::string to_string(const RangeList& list);
[[nodiscard]] std::string to_string(const RangeSet& set);

}  // namespace laneway
