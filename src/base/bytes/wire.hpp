#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes/ranges.hpp"

namespace laneway {

using Bytes = std::vector<std::byte>;

[[nodiscard]] inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
[[nodiscard]] inline std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Appends plain values to a byte vector; Reader takes them out in the same order.
class Writer {
 public:
  Writer() { data_.reserve(control_bytes); }

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    data_.insert(data_.end(), bytes, bytes + sizeof(T));
  }
  /// In as few bytes as it takes, seven bits in each (LEB128); not negative.
  void put_compact(std::int64_t number);
  void put(const RangeList& list);
  void put(const Bytes& bytes);

  [[nodiscard]] bool empty() const { return data_.empty(); }
  [[nodiscard]] Bytes take() { return std::move(data_); }

 private:
  static constexpr std::size_t control_bytes = 256;  // most are shorter

  Bytes data_;
};

/// Throws Error(internal) where the data is not what a Writer makes, as far as that can be told: it asks for no more
/// memory than the data takes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> data) : data_(data) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    read(&value, sizeof(T));
    return value;
  }
  std::int64_t get_compact();
  RangeList get_ranges();
  Bytes get_bytes();

  [[nodiscard]] bool done() const { return at_ == data_.size(); }

 private:
  /// Throws unless `count` things of `each` bytes are left.
  void check(std::int64_t count, std::size_t each) const;
  void read(void* into, std::size_t bytes);

  std::span<const std::byte> data_;
  std::size_t at_ = 0;
};

}  // namespace laneway
