#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/carriers/node/shared_segment.hpp"

namespace laneway {

/// Memory of the channels that this process receives from, in few segments: each is a descriptor here, and a mapping at
/// each peer, however many channels have a part of it. Any thread may call.
class ChannelMemoryPool {
 public:
  /// For other processes. Trivially copyable, to be sent as bytes.
  struct Place {
    SharedSegment::Address segment;
    std::int64_t segment_bytes = 0;
    std::int64_t offset = 0;
  };
  /// Zero; given back with the last copy of `memory`, when no peer uses it any more.
  struct Block {
    std::shared_ptr<std::byte> memory;
    Place place;
  };
  /// Throws std::system_error where the system gives no memory; so does `find`.
  [[nodiscard]] static Block take(std::int64_t bytes);
  /// What another process has taken.
  [[nodiscard]] static std::shared_ptr<std::byte> find(const Place& place);
};

}  // namespace laneway
