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

/// Runs that follow each other, all of them `count` times, each time `stride` bytes after the time before.
struct Repeat {
  std::span<const Run> runs;
  std::int64_t stride = 0;
  std::int64_t count = 1;

  /// Of all runs, once.
  [[nodiscard]] std::int64_t bytes() const;
};

/// An ordered list of byte ranges, compressed: runs of equal blocks, and groups of runs that are repeated. The order is
/// the order of the bytes in a message; a byte may be named more than once. Adjacent ranges are joined. Lists that name
/// the same bytes in the same order are equal however they are written down.
class RangeList {
 public:
  RangeList() = default;
  RangeList(std::initializer_list<Range> ranges);

  /// Elements `indices[i]` of `element_bytes` bytes each, in that order.
  static RangeList from_indices(std::span<const std::int64_t> indices, std::int64_t element_bytes);

  void append(Range range);
  void append(const Run& run);
  void append(const RangeList& other, std::int64_t shift = 0);
  /// Appends `list` so many times, moved by `offset` and each time by `stride` more. Takes time and memory for one, or
  /// in proportion to what is repeated in it if that is less.
  void append_repeated(const RangeList& list, std::int64_t count, std::int64_t stride, std::int64_t offset);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  /// Those that are repeated are here once.
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  [[nodiscard]] std::size_t groups() const { return groups_.size(); }
  [[nodiscard]] std::int64_t blocks() const;

  /// The one range that this list is, if it is contiguous (an empty list is the range {0, 0}).
  [[nodiscard]] std::optional<Range> contiguous() const;

  /// Calls f(Repeat) for each group of runs and for each run that is in none, in order.
  template <class F>
  void for_each_repeat(F&& f) const {
    auto group = groups_.begin();
    for (std::size_t run = 0; run < runs_.size();) {
      if (group == groups_.end() || group->first != run) {
        f(Repeat{{&runs_[run++], 1}, 0, 1});
        continue;
      }
      f(repeat(*group));
      run += group++->runs;
    }
  }

  /// Calls f(Range) for each block, in order.
  template <class F>
  void for_each(F&& f) const {
    for_each_repeat([&](const Repeat& repeat) {
      for (std::int64_t n = 0; n < repeat.count; ++n)
        for (const Run& run : repeat.runs)
          for (std::int64_t i = 0; i < run.count; ++i)
            f(Range{run.offset + n * repeat.stride + i * run.stride, run.bytes});
    });
  }

  /// The bytes at positions [begin, begin + bytes) of the sequence that this list names.
  [[nodiscard]] RangeList slice(std::int64_t begin, std::int64_t bytes) const;

  friend bool operator==(const RangeList& a, const RangeList& b);

 private:
  friend class BlockCursor;
  friend class Slicer;
  struct Group {
    std::size_t first = 0;  ///< of its runs
    std::size_t runs = 0;
    std::int64_t stride = 0;
    std::int64_t count = 0;

    friend bool operator==(const Group&, const Group&) = default;
  };
  /// A run that is in no group, or the first of a group.
  struct Item {
    std::size_t run = 0;
    std::size_t group = 0;      ///< the first at or behind the run
    std::int64_t position = 0;  ///< of its first byte
  };

  [[nodiscard]] Repeat repeat(const Group& group) const {
    return {{runs_.data() + group.first, group.runs}, group.stride, group.count};
  }
  [[nodiscard]] Repeat repeat(const Item& item) const {
    const bool is_group = item.group < groups_.size() && groups_[item.group].first == item.run;
    return is_group ? repeat(groups_[item.group]) : Repeat{{runs_.data() + item.run, 1}, 0, 1};
  }
  [[nodiscard]] Item after(const Item& item) const;
  [[nodiscard]] bool ends_with_group() const {
    return !groups_.empty() && groups_.back().first + groups_.back().runs == runs_.size();
  }
  void take_apart_last_repetition();
  void append_group(const Repeat& repeat, std::int64_t shift);
  void append_part(const Run& run, std::int64_t shift, std::int64_t from, std::int64_t to);
  [[nodiscard]] RangeList slice(std::int64_t begin, std::int64_t bytes, Item item) const;

  std::vector<Run> runs_;
  std::vector<Group> groups_;  // ascending
  std::int64_t bytes_ = 0;
};

/// For many slices of one list, which must outlive it: the cost of each grows with its own runs, not with the list's.
class Slicer {
 public:
  explicit Slicer(const RangeList& list);
  [[nodiscard]] RangeList slice(std::int64_t begin, std::int64_t bytes) const;

 private:
  const RangeList& list_;
  std::vector<RangeList::Item> items_;
};

/// Goes through the bytes of a list, which must outlive it.
class BlockCursor {
 public:
  explicit BlockCursor(const RangeList& list) : list_(&list) {
    if (!done()) repeat_ = list_->repeat(item_);
  }

  [[nodiscard]] bool done() const { return item_.run == list_->runs_.size(); }
  /// What is left of the block that it is in. Must not be done.
  [[nodiscard]] Range rest() const {
    const Run& run = repeat_.runs[run_];
    return {run.offset + repetition_ * repeat_.stride + block_ * run.stride + used_, run.bytes - used_};
  }
  /// So many bytes, at most those of rest().
  void advance(std::int64_t bytes) {
    used_ += bytes;
    if (used_ == repeat_.runs[run_].bytes) next_block();
  }

  /// Bytes that come again and again.
  struct Period {
    std::int64_t bytes = 0;   ///< from here on
    std::int64_t stride = 0;  ///< to the same bytes of the next time
    std::int64_t count = 1;   ///< how often they come in all; 1: not again
    std::int64_t blocks = 1;  ///< that they are in
    bool of_group = false;
    bool at_begin = true;  ///< not within what comes again
  };
  /// Of a group, unless that has more than `most_blocks` blocks, all of its runs; otherwise the block of a run.
  [[nodiscard]] Period period(std::int64_t most_blocks) const;
  /// Any number of whole periods.
  void skip(const Period& period, std::int64_t count);

 private:
  void next_block();

  const RangeList* list_;
  RangeList::Item item_;
  Repeat repeat_;
  std::int64_t repetition_ = 0;
  std::size_t run_ = 0;
  std::int64_t block_ = 0;
  std::int64_t used_ = 0;
};

/// Calls f(offset in a, offset in b, bytes) for the blocks that two lists of equal length have in common, in order.
template <class F>
void for_each_pair(const RangeList& a, const RangeList& b, F&& f) {
  BlockCursor in_b(b);
  a.for_each([&](Range range) {
    while (range.bytes > 0) {
      const Range other = in_b.rest();
      const std::int64_t bytes = range.bytes < other.bytes ? range.bytes : other.bytes;
      f(range.offset, other.offset, bytes);
      range = {range.offset + bytes, range.bytes - bytes};
      in_b.advance(bytes);
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
  /// All bytes of the lists. Where lists have groups, each is either the same as another or has no byte in common with
  /// it, the block is one list after the other, and takes memory in proportion to how these are written down.
  explicit Block(std::span<const RangeList* const> lists);

  /// Of a block that was made of a set.
  [[nodiscard]] const RangeSet& set() const { return set_; }
  [[nodiscard]] RangeList list() const { return lists_.empty() ? set_.list() : all_; }
  [[nodiscard]] std::int64_t bytes() const { return begin_.back(); }

  /// Where the bytes of `list` lie in the block, in the order of `list`: all in the set, or one of the lists.
  [[nodiscard]] RangeList locate(const RangeList& list) const;

 private:
  RangeSet set_;
  std::vector<RangeList> lists_;     // or these
  RangeList all_;                    // then
  std::vector<std::int64_t> begin_;  // by range, or by list
};

[[nodiscard]] std::string to_string(const RangeList& list);
[[nodiscard]] std::string to_string(const RangeSet& set);

}  // namespace laneway
