#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace laneway {

/// The entries that were used last, the last one first.
template <class Entry>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  /// Null if there is none. Valid until the next call.
  template <class Matches>
  [[nodiscard]] Entry* find(const Matches& matches) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), matches);
    if (found == entries_.end()) return nullptr;
    std::rotate(entries_.begin(), found, found + 1);
    return &entries_.front();
  }
  /// In place of the one that was used longest ago.
  Entry& add(Entry entry) {
    if (entries_.size() == most_) entries_.pop_back();
    return *entries_.insert(entries_.begin(), std::move(entry));
  }
  void clear() { entries_.clear(); }
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  std::size_t most_;
  std::vector<Entry> entries_;
};

}  // namespace laneway
