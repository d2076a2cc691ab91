#include "core/wire.hpp"

#include "core/error.hpp"

namespace laneway {

void Writer::put(const RangeList& list) {
  put(static_cast<std::int64_t>(list.runs().size()));
  for (const Run& run : list.runs()) put(run);
}

void Writer::put(const Bytes& bytes) {
  put(static_cast<std::int64_t>(bytes.size()));
  data_.insert(data_.end(), bytes.begin(), bytes.end());
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
