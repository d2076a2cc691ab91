#pragma once

#include <map>
#include <optional>

namespace laneway {

/// Tags that are given out in ranges, the lowest first, and may be given back.
class TagSpace {
 public:
  TagSpace() = default;
  /// Those from `begin` to the one before `end`.
  TagSpace(int begin, int end) { give_back(begin, end - begin); }

  /// Whether so many that follow each other are free.
  [[nodiscard]] bool has(int count) const { return find(count) != free_.end(); }
  /// The first of so many; nothing if there are none. Takes no memory.
  [[nodiscard]] std::optional<int> take(int count);
  /// No message that has one of these tags can come any more.
  void give_back(int first, int count);

 private:
  using Ranges = std::map<int, int>;  // beginnings and ends
  [[nodiscard]] Ranges::const_iterator find(int count) const;

  Ranges free_;
};

}  // namespace laneway
