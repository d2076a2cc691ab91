#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace laneway {

/// Memory that processes of one user on one machine map together. It has no name in any file system: whatever way they
/// end, nothing is left of it. Others find it through the process that made it, as long as that holds it.
class SharedSegment {
 public:
  struct Address {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;
    std::uint64_t token = 0;  ///< also at the beginning of the memory: the same numbers can mean another file elsewhere
  };

  /// Throws std::system_error where the system refuses; so do the others.
  SharedSegment();
  /// That of another process. Throws std::system_error if it cannot be reached; nothing else is opened in its place.
  explicit SharedSegment(const Address& address);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  [[nodiscard]] Address address() const;

  /// The first bytes are the segment's own. All pages are zero until they are written. The mapping outlives the object;
  /// all processes must ask for the same size.
  [[nodiscard]] std::shared_ptr<std::byte> map(std::size_t bytes) const;

  /// Has the system give the pages of a part of what is mapped, next to the calling thread. Without them, writing would
  /// be answered by SIGBUS where there are none left. Throws std::system_error if there are not enough.
  void reserve(std::size_t begin, std::size_t bytes) const;

  /// Gives the pages of a part back, of which `memory` is a mapping: they are zero again.
  void clear(std::byte* memory, std::size_t begin, std::size_t bytes) const;

  static constexpr std::size_t header_bytes = 4096;

 private:
  int descriptor_ = -1;
  std::uint64_t token_ = 0;
};

}  // namespace laneway
