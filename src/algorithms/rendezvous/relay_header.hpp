#pragma once

#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"

namespace laneway {

/// A payload on its way, or where it is long that it comes straight from its source: then without its data.
struct RelayHeader {
  Rank source;
  Rank destination;
  bool straight;
};

inline void put_relay(Writer& writer, const RelayHeader& relay, const Bytes& data) {
  writer.put_compact(relay.source);
  writer.put_compact(2 * std::int64_t{relay.destination} + (relay.straight ? 1 : 0));
  if (!relay.straight) writer.put(data);
}

/// `data`: of the payload; empty where it comes straight.
inline RelayHeader get_relay(Reader& reader, Bytes& data) {
  const auto source = static_cast<Rank>(reader.get_compact());
  const std::int64_t rest = reader.get_compact();
  const RelayHeader relay{source, static_cast<Rank>(rest / 2), rest % 2 != 0};
  data = relay.straight ? Bytes{} : reader.get_bytes();
  return relay;
}

}  // namespace laneway
