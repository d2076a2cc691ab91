#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"

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

enum class Order : std::uint8_t { ascending, descending };

/// Deals loads to the members of a region, each to the member with the least bytes so far; among equals to one that is
/// nearest to a network interface, of these to one that holds more than half of the data itself, or else some of it,
/// which saves an on-node hop, of these to the one that is least busy anyway, and of these by rank.
class Balance {
 public:
  explicit Balance(const RegionView& view, BytesOf busy = {}, Order among_equals = Order::ascending)
      : busy_(std::move(busy)), among_equals_(among_equals) {
    for (std::size_t i = 0; i < view.region.members.size(); ++i)
      members_[view.region.members[i]] = {0, view.distance_of(i)};
  }

  Rank choose(std::int64_t bytes, const BytesOf& own_bytes) {
    const auto best = std::ranges::min_element(members_, {}, [&](const auto& member) {
      const auto& [rank, load] = member;
      return std::tuple(load, -share(bytes_of(own_bytes, rank), bytes), bytes_of(busy_, rank),
                        among_equals_ == Order::ascending ? rank : -rank);
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
  // Not by exact sizes: where each member has a little, the first of them saves as much as any other.
  [[nodiscard]] static int share(std::int64_t own, std::int64_t bytes) {
    return own == 0 ? 0 : 2 * own > bytes ? 2 : 1;
  }

  std::map<Rank, Load> members_;
  BytesOf busy_;
  Order among_equals_;
};

/// Deals small lanes to those that have some of the data, or need some: each to the one that then has the least work.
class Dealer {
 public:
  explicit Dealer(const RegionView& view) : view_(view) {}

  /// One of `among`, by the bytes of the lane that each has or needs itself; the others hand it theirs, or get them.
  Rank give(std::int64_t bytes, const BytesOf& among) {
    const auto work_with = [&](const auto& member) {
      return bytes_of(work_, member.first) + message + (std::ssize(among) - 1) * part + bytes -
             std::min(bytes, member.second);
    };
    const auto best = std::ranges::min_element(
        among, {}, [&](const auto& member) { return std::pair(work_with(member), distance_of(member.first)); });
    work_[best->first] = work_with(*best);
    return best->first;
  }

 private:
  // What a message and a part of one take, in bytes that are handed over inside a node: some 0.4 and 0.2 µs.
  static constexpr std::int64_t message = 1024;
  static constexpr std::int64_t part = 512;

  [[nodiscard]] int distance_of(Rank rank) const {
    const std::vector<Rank>& members = view_.region.members;
    return view_.distance_of(static_cast<std::size_t>(std::ranges::lower_bound(members, rank) - members.begin()));
  }

  const RegionView& view_;
  BytesOf work_;
};

/// The members by ascending distance to a network interface, and equally near ones by rank.
[[nodiscard]] std::vector<Rank> nearest_first(const RegionView& view, Order among_equals = Order::ascending);

/// Blocks are cut at multiples of this. They do not know the size of their elements, which mostly divides or is 8
/// bytes. Nothing depends on it: a message may end inside an element.
constexpr std::int64_t cut_bytes = 8;

[[nodiscard]] constexpr std::int64_t round_up_to_cut(std::int64_t bytes) {
  return bytes > std::numeric_limits<std::int64_t>::max() - cut_bytes ? bytes / cut_bytes * cut_bytes
                                                                      : (bytes + cut_bytes - 1) / cut_bytes * cut_bytes;
}

/// What each member needs of the traffic from a region.
[[nodiscard]] BytesOf needs(const Traffic& traffic);
/// What each source has of a lane.
[[nodiscard]] BytesOf held(const Lane& lane);

/// Sets the senders, largest lane first, so that what is sent is balanced over the region. `incoming`: the lanes to it,
/// whose receivers are rather not senders, too. Receivers are taken from the first rank on, senders from the last:
/// ranks that take turns on a core have mostly handed over what the last one sends.
void balance_senders(const RegionView& view, const std::vector<Lane>& incoming, std::vector<Lane>& lanes);

}  // namespace laneway
