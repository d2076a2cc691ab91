#include "plan/writer/dependencies.hpp"

#include <iterator>
#include <utility>

namespace laneway {

/// Within a stretch. Returns its second part.
Dependencies::Stretches::iterator Dependencies::cut(Stretches& stretches, Stretches::iterator it, std::int64_t at) {
  Stretch rest = it->second;
  it->second.end = at;
  return stretches.emplace_hint(std::next(it), at, std::move(rest));
}

/// The first stretch that ends behind a place begins there, or behind it.
Dependencies::Stretches::iterator Dependencies::cut_begin(Stretches& stretches, std::int64_t at) {
  const auto it = first_behind(stretches, at);
  return it != stretches.end() && it->first < at ? cut(stretches, it, at) : it;
}

bool Dependencies::reads(Buffer buffer, Range range, int step, std::vector<int>& after) {
  if (buffer == Buffer::send || !looks_at(buffer)) return true;
  const bool notes = reuse_ == Reuse::any;
  Stretches& stretches = touched_[static_cast<std::size_t>(buffer)];
  auto it = notes ? cut_begin(stretches, range.offset) : first_behind(stretches, range.offset);
  bool whole = true;
  for (std::int64_t at = range.offset; at < range.end();) {
    if (it == stretches.end() || it->first > at) {  // nobody has touched it yet
      const std::int64_t end = it == stretches.end() ? range.end() : std::min(it->first, range.end());
      if (notes) stretches.emplace_hint(it, at, Stretch{end, -1, {step}});
      whole = false;
      at = end;
      continue;
    }
    if (notes && it->second.end > range.end()) cut(stretches, it, range.end());
    Stretch& stretch = it->second;
    whole = whole && stretch.writer >= 0;
    if (stretch.writer >= 0 && stretch.writer != step && (after.empty() || after.back() != stretch.writer))
      after.push_back(stretch.writer);
    if (notes && (stretch.readers.empty() || stretch.readers.back() != step)) stretch.readers.push_back(step);
    at = stretch.end;
    ++it;
  }
  return whole;
}

void Dependencies::writes(Buffer buffer, Range range, int step, std::vector<int>& after) {
  if (range.bytes == 0 || !looks_at(buffer)) return;
  Stretches& stretches = touched_[static_cast<std::size_t>(buffer)];
  const auto first = cut_begin(stretches, range.offset);
  auto it = first;
  for (; it != stretches.end() && it->first < range.end(); ++it) {
    if (it->second.end > range.end()) cut(stretches, it, range.end());
    if (reuse_ == Reuse::none) continue;
    const Stretch& stretch = it->second;
    if (stretch.writer >= 0 && stretch.writer != step) after.push_back(stretch.writer);
    for (const int reader : stretch.readers)
      if (reader != step) after.push_back(reader);
  }
  if (first == it || first->first != range.offset) {
    it = stretches.erase(first, it);
    stretches.emplace_hint(it, range.offset, Stretch{range.end(), step, {}});
    return;
  }
  first->second.end = range.end();
  first->second.writer = step;
  first->second.readers.clear();
  stretches.erase(std::next(first), it);
}

bool Dependencies::reads(Buffer buffer, const RangeList& ranges, int step, std::vector<int>& after) {
  bool whole = true;
  if (looks_at(buffer)) ranges.for_each([&](Range range) { whole = reads(buffer, range, step, after) && whole; });
  return whole;
}

void Dependencies::writes(Buffer buffer, const RangeList& ranges, int step, std::vector<int>& after) {
  if (looks_at(buffer)) ranges.for_each([&](Range range) { writes(buffer, range, step, after); });
}

}  // namespace laneway
