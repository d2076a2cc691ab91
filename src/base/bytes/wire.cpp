#include "base/bytes/wire.hpp"

#include "base/error.hpp"

namespace laneway {

void Writer::put_compact(std::int64_t number) {
  LANEWAY_ASSERT(number >= 0);
  for (; number > 0x7f; number >>= 7) data_.push_back(static_cast<std::byte>(number | 0x80));
  data_.push_back(static_cast<std::byte>(number));
}

namespace {

/// In the number of runs that are in no group, and of groups.
constexpr int groups_shift = 40;

}  // namespace

/// A list without groups is its number of runs, and these.
void Writer::put(const RangeList& list) {
  std::int64_t repeats = 0;
  list.for_each_repeat([&](const Repeat&) { ++repeats; });
  const bool has_groups = list.groups() > 0;
  put(repeats + (std::int64_t{has_groups} << groups_shift));
  list.for_each_repeat([&](const Repeat& repeat) {
    if (has_groups) {
      put_compact(static_cast<std::int64_t>(repeat.runs.size()));
      put(repeat.stride);
      put(repeat.count);
    }
    for (const Run& run : repeat.runs) put(run);
  });
}

void Writer::put(const Bytes& bytes) {
  put(static_cast<std::int64_t>(bytes.size()));
  data_.insert(data_.end(), bytes.begin(), bytes.end());
}

std::int64_t Reader::get_compact() {
  std::int64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = get<std::uint8_t>();
    require(shift < 63, ErrorKind::internal, "a message has a number that is too long");
    number |= std::int64_t{byte & 0x7f} << shift;
    if (byte < 0x80) return number;
  }
}

namespace {

/// Sums of a few such numbers are numbers, too.
bool is_in_reach(std::int64_t number) {
  constexpr std::int64_t farthest = std::int64_t{1} << 60;
  return -farthest < number && number < farthest;
}

}  // namespace

RangeList Reader::get_ranges() {
  RangeList list;
  const auto written = get<std::int64_t>();
  const bool has_groups = written >> groups_shift == 1;
  const std::int64_t repeats = has_groups ? written - (std::int64_t{1} << groups_shift) : written;
  const auto fits = [](std::int64_t bytes, std::int64_t stride, std::int64_t count) {
    std::int64_t length = 0;
    std::int64_t all = 0;
    return bytes >= 0 && count >= 0 && !__builtin_mul_overflow(count, stride, &length) &&
           !__builtin_mul_overflow(count, bytes, &all) && is_in_reach(length) && is_in_reach(all) && is_in_reach(bytes);
  };
  const auto require_near = [](bool near) {
    require(near, ErrorKind::internal, "a message has ranges that no memory has");
  };
  const auto append_run = [&](RangeList& to) {
    const auto run = get<Run>();
    require_near(fits(run.bytes, run.stride, run.count) && is_in_reach(run.offset) &&
                 is_in_reach(to.bytes() + run.bytes * run.count));
    to.append(run);
  };
  check(repeats, has_groups ? 2 * sizeof(std::int64_t) : sizeof(Run));
  for (std::int64_t i = 0; i < repeats; ++i) {
    if (!has_groups) {
      append_run(list);
      continue;
    }
    const std::int64_t runs = get_compact();
    const auto stride = get<std::int64_t>();
    const auto count = get<std::int64_t>();
    check(runs, sizeof(Run));
    RangeList once;
    for (std::int64_t run = 0; run < runs; ++run) append_run(once);
    require_near(fits(once.bytes(), stride, count) && is_in_reach(list.bytes() + once.bytes() * count));
    list.append_repeated(once, count, stride, 0);
  }
  return list;
}

Bytes Reader::get_bytes() {
  const auto size = get<std::int64_t>();
  check(size, 1);
  Bytes bytes(static_cast<std::size_t>(size));
  read(bytes.data(), bytes.size());
  return bytes;
}

void Reader::check(std::int64_t count, std::size_t each) const {
  require(count >= 0 && static_cast<std::uint64_t>(count) <= (data_.size() - at_) / each, ErrorKind::internal,
          "a message is cut off");
}

void Reader::read(void* into, std::size_t bytes) {
  require(bytes <= data_.size() - at_, ErrorKind::internal, "a message is cut off");
  if (bytes > 0) std::memcpy(into, data_.data() + at_, bytes);
  at_ += bytes;
}

}  // namespace laneway
