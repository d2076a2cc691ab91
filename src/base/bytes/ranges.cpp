#include "base/bytes/ranges.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "base/bytes/disjoint.hpp"
#include "base/error.hpp"

namespace laneway {

RangeList::RangeList(std::initializer_list<Range> ranges) {
  for (Range range : ranges) append(range);
}

RangeList RangeList::from_indices(std::span<const std::int64_t> indices, std::int64_t element_bytes) {
  RangeList list;
  for (std::int64_t index : indices) list.append(Range{index * element_bytes, element_bytes});
  return list;
}

std::int64_t Repeat::bytes() const {
  std::int64_t bytes = 0;
  for (const Run& run : runs) bytes += run.bytes * run.count;
  return bytes;
}

void RangeList::append(Range range) {
  LANEWAY_ASSERT(range.bytes >= 0);
  if (range.bytes == 0) return;
  bytes_ += range.bytes;
  while (!runs_.empty()) {
    if (ends_with_group()) {
      const Group& group = groups_.back();
      const Run& run = runs_.back();
      const std::int64_t end = run.offset + (group.count - 1) * group.stride + (run.count - 1) * run.stride + run.bytes;
      if (range.offset != end) break;
      take_apart_last_repetition();
      continue;
    }
    Run& last = runs_.back();
    const std::int64_t last_offset = last.offset + (last.count - 1) * last.stride;
    if (range.offset == last_offset + last.bytes) {
      range = {last_offset, last.bytes + range.bytes};
      if (--last.count == 1) last.stride = 0;
      if (last.count == 0) runs_.pop_back();
      continue;
    }
    if (range.bytes == last.bytes) {
      if (last.count == 1) last.stride = range.offset - last.offset;
      if (range.offset == last_offset + last.stride) {
        ++last.count;
        return;
      }
    }
    break;
  }
  runs_.push_back({range.offset, range.bytes, 0, 1});
}

void RangeList::append(const Run& run) {
  if (run.count <= 0 || run.bytes == 0) return;
  if (run.count == 1 || run.stride == run.bytes) {
    append(Range{run.offset, run.bytes * run.count});
    return;
  }
  // Few blocks may become part of what is there; the others follow as one run.
  for (std::int64_t i = 0; i < run.count; ++i) {
    const std::int64_t offset = run.offset + i * run.stride;
    append(Range{offset, run.bytes});
    Run& last = runs_.back();
    const bool ends_here = last.bytes == run.bytes && last.offset + (last.count - 1) * last.stride == offset;
    if (!ends_here || (last.count > 1 && last.stride != run.stride)) continue;
    const std::int64_t more = run.count - 1 - i;
    if (more > 0) last.stride = run.stride;
    last.count += more;
    bytes_ += run.bytes * more;
    return;
  }
}

void RangeList::append(const RangeList& other, std::int64_t shift) {
  other.for_each_repeat([&](const Repeat& repeat) { append_group(repeat, shift); });
}

/// The last time of the last group as runs that are in none.
void RangeList::take_apart_last_repetition() {
  Group& group = groups_.back();
  const std::size_t first = group.first;
  const std::size_t runs = group.runs;
  const std::int64_t shift = (group.count - 1) * group.stride;
  if (--group.count == 1) groups_.pop_back();
  runs_.reserve(runs_.size() + runs);
  for (std::size_t run = 0; run < runs; ++run) {
    runs_.push_back(runs_[first + run]);
    runs_.back().offset += shift;
  }
}

void RangeList::append_group(const Repeat& repeat, std::int64_t shift) {
  if (repeat.count == 1) {
    for (Run run : repeat.runs) {
      run.offset += shift;
      append(run);
    }
    return;
  }
  const std::int64_t bytes = repeat.bytes() * repeat.count;
  const auto same = [&](const Run& known, const Run& run, std::int64_t by) {
    return known == Run{run.offset + by, run.bytes, run.stride, run.count};
  };
  if (ends_with_group() && groups_.back().stride == repeat.stride && groups_.back().runs == repeat.runs.size()) {
    Group& last = groups_.back();
    const std::int64_t by = shift - last.count * last.stride;
    if (std::equal(repeat.runs.begin(), repeat.runs.end(), runs_.begin() + static_cast<std::ptrdiff_t>(last.first),
                   [&](const Run& run, const Run& known) { return same(known, run, by); })) {
      last.count += repeat.count;
      bytes_ += bytes;
      return;
    }
  }
  // What adjoins the list's last block is joined to it.
  const RangeList* const self = this;
  const std::int64_t begin = repeat.runs.front().offset + shift;
  std::int64_t end = begin + 1;
  if (!self->runs_.empty()) {
    const Run& run = runs_.back();
    end = run.offset + (run.count - 1) * run.stride + run.bytes +
          (ends_with_group() ? (groups_.back().count - 1) * groups_.back().stride : 0);
  }
  if (begin == end) {
    append_group({repeat.runs, 0, 1}, shift);
    append_group({repeat.runs, repeat.stride, repeat.count - 1}, shift + repeat.stride);
    return;
  }
  groups_.push_back({runs_.size(), repeat.runs.size(), repeat.stride, repeat.count});
  runs_.reserve(runs_.size() + repeat.runs.size());
  for (Run run : repeat.runs) {
    run.offset += shift;
    runs_.push_back(run);
  }
  bytes_ += bytes;
}

void RangeList::append_repeated(const RangeList& list, std::int64_t count, std::int64_t stride, std::int64_t offset) {
  if (count <= 0 || list.empty()) return;
  if (count == 1) {
    append(list, offset);
    return;
  }
  if (list.groups_.empty() && list.runs_.size() == 1) {
    Run run = list.runs_.front();
    run.offset += offset;
    if (run.count == 1) {
      append(Run{run.offset, run.bytes, stride, count});
      return;
    }
    if (stride == run.count * run.stride) {
      run.count *= count;
      append(run);
      return;
    }
  }
  if (!list.groups_.empty()) {
    const auto written = static_cast<std::int64_t>(list.runs_.size() + list.groups_.size());
    if (list.blocks() > written * count) {
      for (std::int64_t i = 0; i < count; ++i) append(list, offset + i * stride);
      return;
    }
    RangeList flat;
    list.for_each([&](Range range) { flat.append(range); });
    append_repeated(flat, count, stride, offset);
    return;
  }
  Run first = list.runs_.front();
  Run last = list.runs_.back();
  const Range last_block{last.offset + (last.count - 1) * last.stride, last.bytes};
  if (last_block.end() != first.offset + stride) {
    append_group({list.runs_, stride, count}, offset);
    return;
  }
  // The last block of each time and the first one of the next are one.
  RangeList between;
  if (list.runs_.size() == 1) {
    between.append(Run{first.offset + first.stride, first.bytes, first.stride, first.count - 2});
  } else {
    between.append(Run{first.offset + first.stride, first.bytes, first.stride, first.count - 1});
    for (std::size_t run = 1; run + 1 < list.runs_.size(); ++run) between.append(list.runs_[run]);
    between.append(Run{last.offset, last.bytes, last.stride, last.count - 1});
  }
  RangeList joined;
  joined.append(Range{last_block.offset, last_block.bytes + first.bytes});
  joined.append(between, stride);
  append(Range{offset + first.offset, first.bytes});
  append(between, offset);
  append_repeated(joined, count - 1, stride, offset);
  append(Range{offset + (count - 1) * stride + last_block.offset, last_block.bytes});
}

std::int64_t RangeList::blocks() const {
  std::int64_t blocks = 0;
  for_each_repeat([&](const Repeat& repeat) {
    for (const Run& run : repeat.runs) blocks += run.count * repeat.count;
  });
  return blocks;
}

std::optional<Range> RangeList::contiguous() const {
  if (runs_.empty()) return Range{};
  if (runs_.size() == 1 && groups_.empty() && runs_[0].count == 1) return Range{runs_[0].offset, runs_[0].bytes};
  return std::nullopt;
}

RangeList::Item RangeList::after(const Item& item) const {
  const Repeat own = repeat(item);
  const bool is_group = item.group < groups_.size() && groups_[item.group].first == item.run;
  return {item.run + own.runs.size(), item.group + (is_group ? 1 : 0), item.position + own.bytes() * own.count};
}

/// Bytes [from, to) of a run.
void RangeList::append_part(const Run& run, std::int64_t shift, std::int64_t from, std::int64_t to) {
  const std::int64_t first_whole = (from + run.bytes - 1) / run.bytes;
  const std::int64_t last_whole = to / run.bytes;
  const auto part = [&](std::int64_t a, std::int64_t b) {
    append(Range{run.offset + shift + (a / run.bytes) * run.stride + a % run.bytes, b - a});
  };
  if (first_whole > last_whole) {
    part(from, to);
    return;
  }
  if (from < first_whole * run.bytes) part(from, first_whole * run.bytes);
  append(Run{run.offset + shift + first_whole * run.stride, run.bytes, run.stride, last_whole - first_whole});
  if (last_whole * run.bytes < to) part(last_whole * run.bytes, to);
}

RangeList RangeList::slice(std::int64_t begin, std::int64_t bytes) const {
  return slice(begin, bytes, Item{});
}

RangeList RangeList::slice(std::int64_t begin, std::int64_t bytes, Item item) const {
  LANEWAY_ASSERT(begin >= 0 && bytes >= 0 && begin + bytes <= bytes_);
  RangeList result;
  const std::int64_t end = begin + bytes;
  for (; item.position < end; item = after(item)) {
    const Repeat own = repeat(item);
    const std::int64_t once = own.bytes();
    const std::int64_t from = std::max(begin - item.position, std::int64_t{0});
    const std::int64_t to = std::min(end - item.position, once * own.count);
    if (from >= to) continue;
    // Bytes [a, b) of the n-th time.
    const auto part = [&](std::int64_t n, std::int64_t a, std::int64_t b) {
      std::int64_t position = 0;
      for (const Run& run : own.runs) {
        const std::int64_t run_bytes = run.bytes * run.count;
        const std::int64_t run_from = std::max(a - position, std::int64_t{0});
        const std::int64_t run_to = std::min(b - position, run_bytes);
        if (run_from < run_to) result.append_part(run, n * own.stride, run_from, run_to);
        position += run_bytes;
      }
    };
    const std::int64_t first_whole = (from + once - 1) / once;
    const std::int64_t last_whole = to / once;
    if (first_whole > last_whole) {
      part(last_whole, from - last_whole * once, to - last_whole * once);
      continue;
    }
    if (from < first_whole * once) part(first_whole - 1, from - (first_whole - 1) * once, once);
    if (first_whole < last_whole)
      result.append_group({own.runs, own.stride, last_whole - first_whole}, first_whole * own.stride);
    if (last_whole * once < to) part(last_whole, 0, to - last_whole * once);
  }
  return result;
}

bool operator==(const RangeList& a, const RangeList& b) {
  if (a.bytes_ != b.bytes_) return false;
  if (a.runs_ == b.runs_ && a.groups_ == b.groups_) return true;
  if (a.groups_.empty() && b.groups_.empty()) return false;
  bool equal = true;
  for_each_pair(a, b, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t) { equal = equal && at_a == at_b; });
  return equal;
}

Slicer::Slicer(const RangeList& list) : list_(list) {
  items_.reserve(list.runs_.size());
  for (RangeList::Item item; item.run < list.runs_.size(); item = list.after(item)) items_.push_back(item);
}

RangeList Slicer::slice(std::int64_t begin, std::int64_t bytes) const {
  const auto after = std::upper_bound(items_.begin(), items_.end(), begin,
                                      [](std::int64_t at, const RangeList::Item& item) { return at < item.position; });
  return list_.slice(begin, bytes, after == items_.begin() ? RangeList::Item{} : *std::prev(after));
}

void BlockCursor::next_block() {
  used_ = 0;
  if (++block_ < repeat_.runs[run_].count) return;
  block_ = 0;
  if (++run_ < repeat_.runs.size()) return;
  run_ = 0;
  if (++repetition_ < repeat_.count) return;
  repetition_ = 0;
  item_ = list_->after(item_);
  if (!done()) repeat_ = list_->repeat(item_);
}

BlockCursor::Period BlockCursor::period(std::int64_t most_blocks) const {
  const bool at_begin = used_ == 0 && block_ == 0 && run_ == 0;
  const Run& run = repeat_.runs[run_];
  std::int64_t blocks = at_begin ? 0 : 1;
  if (repeat_.count > 1)
    for (const Run& each : repeat_.runs) blocks += each.count;
  if (repeat_.count > 1 && blocks <= most_blocks)
    return {repeat_.bytes(), repeat_.stride, repeat_.count - repetition_ - (at_begin ? 0 : 1), blocks, true, at_begin};
  if (run.count == 1 || used_ > 0) return {run.bytes - used_, 0, 1, 1, false, true};
  return {run.bytes, run.stride, run.count - block_, 1, false, true};
}

void BlockCursor::skip(const Period& period, std::int64_t count) {
  if (count == 0) return;
  if (period.count == 1 && !period.of_group) return advance(period.bytes * count);
  std::int64_t& times = period.of_group ? repetition_ : block_;
  // The last step goes over the end.
  times += count - 1;
  for (std::int64_t left = period.bytes; left > 0;) {
    const std::int64_t bytes = std::min(left, rest().bytes);
    advance(bytes);
    left -= bytes;
  }
}

namespace {

std::vector<Range> canonical(std::vector<Range> ranges) {
  std::erase_if(ranges, [](const Range& r) { return r.bytes == 0; });
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.offset < b.offset; });
  std::vector<Range> result;
  for (const Range& range : ranges) {
    if (!result.empty() && range.offset <= result.back().end())
      result.back().bytes = std::max(result.back().end(), range.end()) - result.back().offset;
    else
      result.push_back(range);
  }
  return result;
}

}  // namespace

RangeSet::RangeSet(std::initializer_list<Range> ranges) : ranges_(canonical(ranges)) {}
RangeSet::RangeSet(std::vector<Range> ranges) : ranges_(canonical(std::move(ranges))) {}

RangeSet::RangeSet(const RangeList& list) {
  std::vector<Range> ranges;
  ranges.reserve(static_cast<std::size_t>(list.blocks()));
  list.for_each([&](Range range) { ranges.push_back(range); });
  ranges_ = canonical(std::move(ranges));
}

std::int64_t RangeSet::bytes() const {
  std::int64_t bytes = 0;
  for (const Range& range : ranges_) bytes += range.bytes;
  return bytes;
}

bool RangeSet::contains(Range range) const {
  if (range.bytes == 0) return true;
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), range.offset,
                             [](std::int64_t offset, const Range& r) { return offset < r.offset; });
  return it != ranges_.begin() && range.end() <= std::prev(it)->end();
}

RangeList RangeSet::list() const {
  RangeList list;
  for (const Range& range : ranges_) list.append(range);
  return list;
}

RangeSet unite(const RangeSet& a, const RangeSet& b) {
  std::vector<Range> all = a.ranges_;
  all.insert(all.end(), b.ranges_.begin(), b.ranges_.end());
  return RangeSet(std::move(all));
}

RangeSet intersect(const RangeSet& a, const RangeSet& b) {
  RangeSet result;
  auto i = a.ranges_.begin();
  auto j = b.ranges_.begin();
  while (i != a.ranges_.end() && j != b.ranges_.end()) {
    const std::int64_t begin = std::max(i->offset, j->offset);
    const std::int64_t end = std::min(i->end(), j->end());
    if (begin < end) result.ranges_.push_back({begin, end - begin});
    if (i->end() < j->end())
      ++i;
    else
      ++j;
  }
  return result;
}

RangeSet subtract(const RangeSet& a, const RangeSet& b) {
  RangeSet result;
  auto j = b.ranges_.begin();
  for (const Range& range : a.ranges_) {
    std::int64_t begin = range.offset;
    while (j != b.ranges_.end() && j->end() <= begin) ++j;
    for (auto k = j; k != b.ranges_.end() && k->offset < range.end(); ++k) {
      if (begin < k->offset) result.ranges_.push_back({begin, k->offset - begin});
      begin = std::max(begin, k->end());
    }
    if (begin < range.end()) result.ranges_.push_back({begin, range.end() - begin});
  }
  return result;
}

Block::Block(RangeSet set) : set_(std::move(set)) {
  begin_.reserve(set_.ranges().size() + 1);
  begin_.push_back(0);
  for (const Range& range : set_.ranges()) begin_.push_back(begin_.back() + range.bytes);
}

namespace {

RangeSet set_of(std::span<const RangeList* const> lists) {
  std::vector<Range> ranges;
  for (const RangeList* list : lists) list->for_each([&](Range range) { ranges.push_back(range); });
  return RangeSet(std::move(ranges));
}

/// Those that are not the same as another one, if they have groups and no byte in common.
std::vector<const RangeList*> apart(std::span<const RangeList* const> lists) {
  if (std::none_of(lists.begin(), lists.end(), [](const RangeList* list) { return list->groups() > 0; })) return {};
  std::vector<const RangeList*> different;
  std::map<std::int64_t, std::vector<const RangeList*>> known;  // by where they begin
  for (const RangeList* list : lists) {
    if (list->empty()) continue;
    std::vector<const RangeList*>& alike = known[list->runs().front().offset];
    if (std::any_of(alike.begin(), alike.end(), [&](const RangeList* other) { return *other == *list; })) continue;
    alike.push_back(list);
    different.push_back(list);
  }
  return surely_disjoint(different) ? different : std::vector<const RangeList*>{};
}

}  // namespace

Block::Block(std::span<const RangeList* const> lists) {
  const std::vector<const RangeList*> different = apart(lists);
  if (different.empty()) {
    *this = Block(set_of(lists));
    return;
  }
  for (const RangeList* list : different) {
    begin_.push_back(all_.bytes());
    lists_.push_back(*list);
    all_.append(*list);
  }
  begin_.push_back(all_.bytes());
}

RangeList Block::locate(const RangeList& list) const {
  RangeList result;
  if (list.empty()) return result;
  if (!lists_.empty()) {
    const auto same = std::find(lists_.begin(), lists_.end(), list);
    LANEWAY_ASSERT(same != lists_.end());
    result.append(Range{begin_[static_cast<std::size_t>(same - lists_.begin())], list.bytes()});
    return result;
  }
  const std::vector<Range>& ranges = set_.ranges();
  std::size_t at = 0;
  list.for_each([&](Range range) {
    const bool near = at < ranges.size() && ranges[at].offset <= range.offset && range.end() <= ranges[at].end();
    if (!near) {
      auto it = std::upper_bound(ranges.begin(), ranges.end(), range.offset,
                                 [](std::int64_t offset, const Range& r) { return offset < r.offset; });
      LANEWAY_ASSERT(it != ranges.begin());
      at = static_cast<std::size_t>(it - ranges.begin()) - 1;
      LANEWAY_ASSERT(range.end() <= ranges[at].end());
    }
    result.append(Range{begin_[at] + range.offset - ranges[at].offset, range.bytes});
  });
  return result;
}

std::string to_string(const RangeList& list) {
  std::string text;
  const auto separate = [&] {
    if (!text.empty() && text.back() != '(') text += ' ';
  };
  list.for_each_repeat([&](const Repeat& repeat) {
    if (repeat.count > 1) separate(), text += '(';
    for (const Run& run : repeat.runs) {
      separate();
      text += std::to_string(run.offset) + "+" + std::to_string(run.bytes);
      if (run.count > 1) text += "*" + std::to_string(run.count) + "@" + std::to_string(run.stride);
    }
    if (repeat.count > 1) text += ")*" + std::to_string(repeat.count) + "@" + std::to_string(repeat.stride);
  });
  return text.empty() ? "-" : text;
}

std::string to_string(const RangeSet& set) {
  return to_string(set.list());
}

}  // namespace laneway
