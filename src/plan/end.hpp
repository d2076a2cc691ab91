#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes/ranges.hpp"

namespace laneway {

/// The memory that a step touches: the two buffer arguments of the operation, or the plan's own. The ranks of a node
/// may touch each other's staging memory and windows; a window has mailboxes for their messages, and words that they
/// wait for. The shadow holds in the host's memory what messages move from and to buffers of a device.
enum class Buffer : std::uint8_t { send, receive, staging, window, shadow };
inline constexpr std::size_t buffer_kinds = 5;

/// Contiguous memory.
struct Span {
  Buffer buffer = Buffer::staging;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

/// Bytes that a message takes from a buffer, or puts there, in message order.
struct Segment {
  Buffer buffer = Buffer::send;
  RangeList ranges;

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Where the bytes of a message come from, or go: one place, or parts one after the other. A receiver may drop bytes,
/// and have them in another order than the message: the i-th byte of the parts is the one at position stream[i].
class End {
 public:
  End() = default;
  End(Buffer buffer_, std::int64_t offset_, std::int64_t bytes_) : buffer(buffer_), offset(offset_), bytes(bytes_) {}
  End(const Span& span) : End(span.buffer, span.offset, span.bytes) {}
  /// One place, if that is what the parts are. `stream`: positions in the message, as many as the parts have bytes.
  End(std::vector<Segment> parts, const RangeList& stream, std::int64_t bytes_);

  // Of one place; of parts, only the bytes of the message count.
  Buffer buffer = Buffer::staging;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;

  [[nodiscard]] bool is_scattered() const { return scattered_ != nullptr; }
  /// Of scattered ones; none is empty.
  [[nodiscard]] std::span<const Segment> parts() const { return scattered_->parts; }
  [[nodiscard]] const RangeList& stream() const { return scattered_->stream; }

  /// Calls f(Buffer, Range place, std::int64_t position in the message) for all bytes that are not dropped.
  template <class F>
  void for_each(F&& f) const {
    if (!is_scattered()) {
      if (bytes > 0) f(buffer, Range{offset, bytes}, std::int64_t{0});
      return;
    }
    BlockCursor positions(stream());
    for (const Segment& part : parts())
      part.ranges.for_each([&](Range place) {
        while (place.bytes > 0) {
          const Range position = positions.rest();
          const std::int64_t n = std::min(place.bytes, position.bytes);
          f(part.buffer, Range{place.offset, n}, position.offset);
          place = {place.offset + n, place.bytes - n};
          positions.advance(n);
        }
      });
  }

  /// Calls f(Buffer, const RangeList&) for each part, or for the one place.
  template <class F>
  void for_each_part(F&& f) const {
    if (!is_scattered()) return f(buffer, RangeList{{offset, bytes}});
    for (const Segment& part : parts()) f(part.buffer, part.ranges);
  }

  /// Beside the object itself.
  [[nodiscard]] std::int64_t metadata_bytes() const;

  friend bool operator==(const End& a, const End& b);

 private:
  struct Scattered {
    std::vector<Segment> parts;
    RangeList stream;

    friend bool operator==(const Scattered&, const Scattered&) = default;
  };
  std::shared_ptr<const Scattered> scattered_;
};

}  // namespace laneway
