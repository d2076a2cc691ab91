#include "plan/verify/contents.hpp"

namespace laneway::verification {

void append_joined(std::vector<Origin>& list, const Origin& next) {
  if (next.begin >= next.end) return;
  if (!list.empty() && list.back().continued_by(next))
    list.back().end = next.end;
  else
    list.push_back(next);
}

void Contents::write(std::vector<Origin>& parts) {
  auto disjoint = [&] {
    return std::adjacent_find(parts.begin(), parts.end(),
                              [](const Origin& a, const Origin& b) { return a.end > b.begin; }) == parts.end();
  };
  if (disjoint()) {
    if (!parts.empty()) write_sorted(parts.data(), parts.data() + parts.size());
    return;
  }
  const std::vector<Origin> in_order = parts;
  std::sort(parts.begin(), parts.end(), [](const Origin& a, const Origin& b) { return a.begin < b.begin; });
  if (disjoint()) {
    write_sorted(parts.data(), parts.data() + parts.size());
    return;
  }
  for (const Origin& part : in_order) write_sorted(&part, &part + 1);
}

void Contents::write_sorted(const Origin* first, const Origin* last) {
  // The neighbours on both sides are rewritten too, so that they can be joined.
  auto low = known_.begin() + (first_after(first->begin) - known_.cbegin());
  if (low != known_.begin()) --low;
  kept_.clear();
  const Origin* part = first;
  auto high = low;
  for (; high != known_.end() && high->begin <= (last - 1)->end; ++high) {
    std::int64_t begin = high->begin;
    while (part != last && part->end <= begin) ++part;
    for (const Origin* p = part; p != last && p->begin < high->end; ++p) {
      if (begin < p->begin) kept_.push_back(high->part(begin, p->begin));
      begin = std::max(begin, p->end);
    }
    if (begin < high->end) kept_.push_back(high->part(begin, high->end));
  }
  merged_.clear();
  auto kept = kept_.begin();
  while (kept != kept_.end() || first != last) {
    const bool take_kept = first == last || (kept != kept_.end() && kept->begin < first->begin);
    append_joined(merged_, take_kept ? *kept++ : *first++);
  }

  const auto old_size = high - low;
  const auto new_size = static_cast<std::ptrdiff_t>(merged_.size());
  if (new_size <= old_size) {
    std::copy(merged_.begin(), merged_.end(), low);
    known_.erase(low + new_size, high);
  } else {
    std::copy(merged_.begin(), merged_.begin() + old_size, low);
    known_.insert(high, merged_.begin() + old_size, merged_.end());
  }
}

}  // namespace laneway::verification
