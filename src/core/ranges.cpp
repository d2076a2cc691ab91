#include "core/ranges.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/error.hpp"

namespace laneway {

RangeList::RangeList(std::initializer_list<Range> ranges) {
  for (Range range : ranges) append(range);
}

RangeList RangeList::from_indices(std::span<const std::int64_t> indices, std::int64_t element_bytes) {
  RangeList list;
  for (std::int64_t index : indices) list.append(Range{index * element_bytes, element_bytes});
  return list;
}

void RangeList::append(Range range) {
  LANEWAY_ASSERT(1, range.bytes >= 0);
  if (range.bytes == 0) return;
  bytes_ += range.bytes;
  while (!runs_.empty()) {
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
  for (Run run : other.runs_) {
    run.offset += shift;
    append(run);
  }
}

std::int64_t RangeList::blocks() const {
  std::int64_t blocks = 0;
  for (const Run& run : runs_) blocks += run.count;
  return blocks;
}

std::optional<Range> RangeList::contiguous() const {
  if (runs_.empty()) return Range{};
  if (runs_.size() == 1 && runs_[0].count == 1) return Range{runs_[0].offset, runs_[0].bytes};
  return std::nullopt;
}

RangeList RangeList::slice(std::int64_t begin, std::int64_t bytes) const {
  return slice(begin, bytes, 0, 0);
}

RangeList RangeList::slice(std::int64_t begin, std::int64_t bytes, std::size_t first, std::int64_t position) const {
  LANEWAY_ASSERT(1, begin >= 0 && bytes >= 0 && begin + bytes <= bytes_);
  RangeList result;
  const std::int64_t end = begin + bytes;
  for (const Run& run : std::span(runs_).subspan(first)) {
    const std::int64_t run_end = position + run.bytes * run.count;
    if (run_end > begin && position < end) {
      const std::int64_t from = std::max(begin, position) - position;
      const std::int64_t to = std::min(end, run_end) - position;
      const std::int64_t first_whole = (from + run.bytes - 1) / run.bytes;
      const std::int64_t last_whole = to / run.bytes;
      auto part = [&](std::int64_t a, std::int64_t b) {
        result.append(Range{run.offset + (a / run.bytes) * run.stride + a % run.bytes, b - a});
      };
      if (first_whole > last_whole) {
        part(from, to);
      } else {
        if (from < first_whole * run.bytes) part(from, first_whole * run.bytes);
        result.append(Run{run.offset + first_whole * run.stride, run.bytes, run.stride, last_whole - first_whole});
        if (last_whole * run.bytes < to) part(last_whole * run.bytes, to);
      }
    }
    position = run_end;
    if (position >= end) break;
  }
  return result;
}

Slicer::Slicer(const RangeList& list) : list_(list) {
  begin_.reserve(list.runs().size());
  std::int64_t position = 0;
  for (const Run& run : list.runs()) {
    begin_.push_back(position);
    position += run.bytes * run.count;
  }
}

RangeList Slicer::slice(std::int64_t begin, std::int64_t bytes) const {
  const auto after = std::upper_bound(begin_.begin(), begin_.end(), begin);
  if (after == begin_.begin()) return list_.slice(begin, bytes);
  return list_.slice(begin, bytes, static_cast<std::size_t>(after - begin_.begin()) - 1, *std::prev(after));
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

RangeList Block::locate(const RangeList& list) const {
  RangeList result;
  const std::vector<Range>& ranges = set_.ranges();
  std::size_t at = 0;
  list.for_each([&](Range range) {
    const bool near = at < ranges.size() && ranges[at].offset <= range.offset && range.end() <= ranges[at].end();
    if (!near) {
      auto it = std::upper_bound(ranges.begin(), ranges.end(), range.offset,
                                 [](std::int64_t offset, const Range& r) { return offset < r.offset; });
      LANEWAY_ASSERT(1, it != ranges.begin());
      at = static_cast<std::size_t>(it - ranges.begin()) - 1;
      LANEWAY_ASSERT(1, range.end() <= ranges[at].end());
    }
    result.append(Range{begin_[at] + range.offset - ranges[at].offset, range.bytes});
  });
  return result;
}

std::string to_string(const RangeList& list) {
  std::string text;
  for (const Run& run : list.runs()) {
    if (!text.empty()) text += ' ';
    text += std::to_string(run.offset) + "+" + std::to_string(run.bytes);
    if (run.count > 1) text += "*" + std::to_string(run.count) + "@" + std::to_string(run.stride);
  }
  return text.empty() ? "-" : text;
}

std::string to_string(const RangeSet& set) {
  return to_string(set.list());
}

}  // namespace laneway
