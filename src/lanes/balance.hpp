#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "lanes/strategy.hpp"

namespace laneway {

/// Bytes by rank.
using BytesOf = std::map<Rank, std::int64_t>;

[[nodiscard]] inline std::int64_t bytes_of(const BytesOf& bytes, Rank rank) {
  const auto it = bytes.find(rank);
  return it == bytes.end() ? 0 : it->second;
}

/// Indices of `items` by descending size; equal ones keep their order.
template <class Items, class Size>
[[nodiscard]] std::vector<std::size_t> largest_first(const Items& items, Size&& size) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(items[a]) > size(items[b]); });
  return order;
}

/// Deals loads to the members of a region, each to the member with the least bytes so far; among equals to one that is
/// nearest to a network interface, of these to the one that holds most of the data itself, which saves an on-node hop.
class Balance {
 public:
  explicit Balance(const RegionView& view) {
    for (std::size_t i = 0; i < view.region.members.size(); ++i)
      members_[view.region.members[i]] = {0, view.distance_of(i)};
  }

  Rank choose(std::int64_t bytes, const BytesOf& own_bytes) {
    const auto best = std::min_element(members_.begin(), members_.end(), [&](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : bytes_of(own_bytes, a.first) > bytes_of(own_bytes, b.first);
    });
    best->second.bytes += bytes;
    return best->first;
  }

 private:
  struct Load {
    std::int64_t bytes = 0;
    int distance = 0;

    friend auto operator<=>(const Load&, const Load&) = default;
  };
  std::map<Rank, Load> members_;
};

enum class Order : std::uint8_t { ascending, descending };
/// The members by ascending distance to a network interface, and equally near ones by rank.
[[nodiscard]] std::vector<Rank> nearest_first(const RegionView& view, Order among_equals = Order::ascending);

/// Blocks are cut at multiples of this. They do not know the size of their elements, which mostly divides or is 8
/// bytes. Nothing depends on it: a message may end inside an element.
constexpr std::int64_t cut_bytes = 8;

[[nodiscard]] constexpr std::int64_t round_up_to_cut(std::int64_t bytes) {
  return (bytes + cut_bytes - 1) / cut_bytes * cut_bytes;
}

/// What each member needs of a link.
[[nodiscard]] BytesOf needs(const Link& link);

/// Sets the senders, largest lane first, so that sent bytes are balanced over the region.
void balance_senders(const RegionView& view, std::vector<Lane>& lanes);

}  // namespace laneway
