#include "plan/end.hpp"

#include <optional>
#include <utility>

#include "base/error.hpp"

namespace laneway {

End::End(std::vector<Segment> parts, const RangeList& stream, std::int64_t bytes_) : bytes(bytes_) {
  std::erase_if(parts, [](const Segment& part) { return part.ranges.empty(); });
  if (bytes == 0) return;
  const bool whole = stream.contiguous() == Range{0, bytes};
  const bool one_buffer =
      std::ranges::all_of(parts, [&](const Segment& part) { return part.buffer == parts.front().buffer; });
  if (whole && one_buffer && !parts.empty()) {
    RangeList place;
    for (const Segment& part : parts) {
      const std::optional<Range> range = part.ranges.contiguous();
      if (!range) break;
      place.append(*range);
    }
    const std::optional<Range> range = place.contiguous();
    if (range && range->bytes == bytes) {
      buffer = parts.front().buffer;
      offset = range->offset;
      return;
    }
  }
  scattered_ = std::make_shared<const Scattered>(std::move(parts), stream);
}

std::int64_t End::metadata_bytes() const {
  if (!is_scattered()) return 0;
  const auto of = [](const RangeList& list) {
    return list.runs().capacity() * sizeof(Run) + list.groups() * sizeof(Repeat);
  };
  std::size_t all = sizeof(Scattered) + of(stream()) + parts().size() * sizeof(Segment);
  for (const Segment& part : parts()) all += of(part.ranges);
  return static_cast<std::int64_t>(all);
}

bool operator==(const End& a, const End& b) {
  if (a.buffer != b.buffer || a.offset != b.offset || a.bytes != b.bytes || a.is_scattered() != b.is_scattered())
    return false;
  return !a.is_scattered() || a.scattered_ == b.scattered_ || *a.scattered_ == *b.scattered_;
}

}  // namespace laneway
