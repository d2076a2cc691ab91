#pragma once

#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"

namespace laneway {

/// A note on its way, or where it is long that it comes straight from its source: then without its data.
struct Passage {
  Rank source;
  Rank destination;
  bool straight;
};

inline void put_passage(Writer& writer, const Passage& passage, const Bytes& data) {
  writer.put_compact(passage.source);
  writer.put_compact(2 * std::int64_t{passage.destination} + (passage.straight ? 1 : 0));
  if (!passage.straight) writer.put(data);
}

/// `data`: of the note; empty where it comes straight.
inline Passage get_passage(Reader& reader, Bytes& data) {
  const auto source = static_cast<Rank>(reader.get_compact());
  const std::int64_t rest = reader.get_compact();
  const Passage passage{source, static_cast<Rank>(rest / 2), rest % 2 != 0};
  data = passage.straight ? Bytes{} : reader.get_bytes();
  return passage;
}

}  // namespace laneway
