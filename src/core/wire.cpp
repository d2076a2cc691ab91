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
    number |= std::int64_t{byte & 0x7f} << shift;
    if (byte < 0x80) return number;
  }
}

RangeList Reader::get_ranges() {
  RangeList list;
  const auto runs = get<std::int64_t>();
  for (std::int64_t i = 0; i < runs; ++i) list.append(get<Run>());
  return list;
}

Bytes Reader::get_bytes() {
  Bytes bytes(static_cast<std::size_t>(get<std::int64_t>()));
  read(bytes.data(), bytes.size());
  return bytes;
}

void Reader::read(void* into, std::size_t bytes) {
  LANEWAY_ASSERT(1, at_ + bytes <= data_.size());
  if (bytes > 0) std::memcpy(into, data_.data() + at_, bytes);
  at_ += bytes;
}

}  // namespace laneway
