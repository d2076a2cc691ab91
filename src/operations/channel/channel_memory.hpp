#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes/types.hpp"

namespace laneway {

/// The segments of a channel, in memory that both ends see. A segment has a word with the number of the last put, next
/// to its data, which only the sender writes and the receiver looks at; and a word with the number of the last release,
/// the other way round. Each end is told by looking at its own words: no lock, no queue, no system call. Ends of
/// different segments have nothing in common. The words of a put and of a release are on cache lines of their own.
class ChannelMemory {
 public:
  /// What `segments` segments of so many bytes take; -1 if that is more than there are addresses.
  [[nodiscard]] static std::int64_t size(std::int64_t bytes, std::int64_t segments) {
    std::int64_t total = 0;
    if (bytes > most_bytes || __builtin_mul_overflow(stride(bytes) + line, segments, &total) ||
        __builtin_add_overflow(total, ends_bytes, &total))
      return -1;
    return total;
  }

  /// `memory` was zero when the first end got it.
  ChannelMemory(std::byte* memory, std::int64_t bytes, std::int64_t segments)
      : memory_(memory),
        stride_(stride(bytes)),
        data_offset_(bytes <= line - header_bytes ? header_bytes : line),
        releases_(memory + ends_bytes + segments * stride_),
        own_(static_cast<std::size_t>(segments)) {}

  /// @name Of the sender
  /// @{
  /// Whether what was put last has been released. A thread that is putting something keeps it from being free.
  [[nodiscard]] bool is_free(std::int64_t segment) {
    return released(segment).load(std::memory_order_acquire) == own(segment).load(std::memory_order_relaxed);
  }
  /// False, and nothing is done, if the segment is not free. Of several threads that put into one at a time, one wins.
  [[nodiscard]] bool put(std::int64_t segment, const void* data, std::int64_t bytes) {
    const std::uint64_t number = begin_put(segment, bytes);
    if (number == 0) return false;
    if (bytes > 0) std::memcpy(place(segment) + data_offset_, data, static_cast<std::size_t>(bytes));
    end_put(segment, number);
    return true;
  }
  /// As put, for who brings the data between the two calls. The number of the put; 0 where the segment is not free.
  [[nodiscard]] std::uint64_t begin_put(std::int64_t segment, std::int64_t bytes) {
    std::uint64_t before = released(segment).load(std::memory_order_acquire);
    const std::uint64_t number = before + 1;
    if (!own(segment).compare_exchange_strong(before, number, std::memory_order_relaxed)) return 0;
    std::memcpy(place(segment) + sizeof number, &bytes, sizeof bytes);
    return number;
  }
  void end_put(std::int64_t segment, std::uint64_t number) {
    put_word(segment).store(number, std::memory_order_release);
  }
  /// @}

  /// @name Of the receiver
  /// @{
  /// Whether something is there that has not been released.
  [[nodiscard]] bool has_come(std::int64_t segment) {
    return put_word(segment).load(std::memory_order_acquire) != own(segment).load(std::memory_order_relaxed);
  }
  /// Of what has come: the how-manieth put it is, from 1.
  [[nodiscard]] std::uint64_t number(std::int64_t segment) const {
    return put_word(segment).load(std::memory_order_relaxed);
  }
  /// Of what has come.
  [[nodiscard]] const std::byte* data(std::int64_t segment) const { return place(segment) + data_offset_; }
  [[nodiscard]] std::int64_t bytes(std::int64_t segment) const {
    std::int64_t bytes = 0;
    std::memcpy(&bytes, place(segment) + sizeof(std::uint64_t), sizeof bytes);
    return bytes;
  }
  /// False, and nothing is done, if nothing has come.
  [[nodiscard]] bool release(std::int64_t segment) {
    if (!has_come(segment)) return false;
    std::uint64_t before = own(segment).load(std::memory_order_relaxed);
    if (!own(segment).compare_exchange_strong(before, before + 1, std::memory_order_relaxed)) return false;
    released(segment).store(before + 1, std::memory_order_release);
    return true;
  }
  /// @}

  /// @name Where a segment's things are, from the beginning of the memory
  /// @{
  [[nodiscard]] std::byte* memory() const { return memory_; }
  [[nodiscard]] std::int64_t number_offset(std::int64_t segment) const { return place(segment) - memory_; }
  [[nodiscard]] std::int64_t size_offset(std::int64_t segment) const {
    return number_offset(segment) + static_cast<std::int64_t>(sizeof(std::uint64_t));
  }
  [[nodiscard]] std::int64_t data_offset(std::int64_t segment) const { return number_offset(segment) + data_offset_; }
  [[nodiscard]] std::int64_t release_offset(std::int64_t segment) const { return releases_ - memory_ + segment * line; }
  /// @}

  /// Says that this end has been freed, and whether the other has.
  void close(bool is_sender) { closed(is_sender).store(1, std::memory_order_release); }
  [[nodiscard]] bool is_closed(bool sender) { return closed(sender).load(std::memory_order_acquire) != 0; }

 private:
  static constexpr std::int64_t line = 64;
  static constexpr std::int64_t header_bytes = 16;      // number and size of what was put
  static constexpr std::int64_t ends_bytes = 2 * line;  // a word of each end
  static constexpr std::int64_t most_bytes = INT64_MAX / 4;
  using Word = std::atomic_ref<std::uint64_t>;

  /// How often this end has put, or released. Apart, as threads count in different segments.
  struct alignas(line) Own {
    std::atomic<std::uint64_t> count{0};
  };

  /// What is short shares a cache line with its word.
  static std::int64_t stride(std::int64_t bytes) {
    const std::int64_t header = bytes <= line - header_bytes ? header_bytes : line;
    return (header + bytes + line - 1) / line * line;
  }
  [[nodiscard]] std::byte* place(std::int64_t segment) const { return memory_ + ends_bytes + segment * stride_; }
  [[nodiscard]] static Word word(std::byte* at) { return Word(*reinterpret_cast<std::uint64_t*>(at)); }
  [[nodiscard]] Word put_word(std::int64_t segment) const { return word(place(segment)); }
  [[nodiscard]] Word released(std::int64_t segment) const { return word(releases_ + segment * line); }
  [[nodiscard]] Word closed(bool is_sender) const { return word(memory_ + (is_sender ? 0 : line)); }
  [[nodiscard]] std::atomic<std::uint64_t>& own(std::int64_t segment) {
    return own_[static_cast<std::size_t>(segment)].count;
  }

  std::byte* memory_;
  std::int64_t stride_;
  std::int64_t data_offset_;
  std::byte* releases_;
  std::vector<Own> own_;
};

}  // namespace laneway
