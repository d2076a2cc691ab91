#include "core/wire.hpp"

#include "core/error.hpp"

namespace laneway {

void Writer::put_compact(std::int64_t number) {
  LANEWAY_ASSERT(1, number >= 0);
  for (; number > 0x7f; number >>= 7) data_.push_back(static_cast<std::byte>(number | 0x80));
  data_.push_back(static_cast<std::byte>(number));
}

void Writer::put(const RangeList& list) {
  put(static_cast<std::int64_t>(list.runs().size()));
  for (const Run& run : list.runs()) put(run);
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
bool is_near(std::int64_t number) {
  constexpr std::int64_t farthest = std::int64_t{1} << 60;
  return -farthest < number && number < farthest;
}

}  // namespace

RangeList Reader::get_ranges() {
  RangeList list;
  const auto runs = get<std::int64_t>();
  check(runs, sizeof(Run));
  for (std::int64_t i = 0; i < runs; ++i) {
    const auto run = get<Run>();
    std::int64_t length = 0;
    std::int64_t bytes = 0;
    const bool fits = run.bytes >= 0 && run.count >= 0 && !__builtin_mul_overflow(run.count, run.stride, &length) &&
                      !__builtin_mul_overflow(run.count, run.bytes, &bytes) && is_near(length) && is_near(bytes) &&
                      is_near(run.offset) && is_near(run.bytes) && is_near(list.bytes() + bytes);
    require(fits, ErrorKind::internal, "a message has ranges that no memory has");
    list.append(run);
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
