#include "operations/channel/channel_window.hpp"

#include <cstring>

namespace laneway {

namespace {

/// Up to so many bytes a copy costs less than a put of their own.
constexpr std::int64_t most_copied = 4096;

}  // namespace

/// The number comes last, so that who sees it sees the data.
bool ChannelWindow::put(ChannelMemory& own, std::int64_t segment, const void* data, std::int64_t bytes) const {
  const std::uint64_t number = own.begin_put(segment, bytes);
  if (number == 0) return false;
  const std::int64_t size = own.size_offset(segment);
  const std::int64_t begin = own.data_offset(segment);
  if (bytes > 0 && bytes <= most_copied) {
    std::memcpy(own.memory() + begin, data, static_cast<std::size_t>(bytes));
    put(own, size, begin + bytes);
  } else {
    put(own, size, size + static_cast<std::int64_t>(sizeof bytes));
    if (bytes > 0) arena_->put(peer_, static_cast<const std::byte*>(data), offset_ + begin, bytes);
  }
  arena_->flush(peer_);
  own.end_put(segment, number);
  raise(own, own.number_offset(segment));
  return true;
}

bool ChannelWindow::release(ChannelMemory& own, std::int64_t segment) const {
  if (!own.release(segment)) return false;
  raise(own, own.release_offset(segment));
  return true;
}

void ChannelWindow::put(const ChannelMemory& own, std::int64_t begin, std::int64_t end) const {
  arena_->put(peer_, own.memory() + begin, offset_ + begin, end - begin);
}

void ChannelWindow::raise(const ChannelMemory& own, std::int64_t word) const {
  arena_->raise(peer_, reinterpret_cast<const std::uint64_t*>(own.memory() + word), offset_ + word);
  arena_->flush(peer_);
}

}  // namespace laneway
