#include <algorithm>
#include <map>
#include <numeric>

#include "lanes/strategy.hpp"

namespace laneway {

namespace {

/// Hands out links to the members of a region, largest first, each to the member with the least bytes so far; among
/// equals to the one that holds most of the link's data itself, which saves an on-node hop.
class Balance {
 public:
  explicit Balance(const Region& region) {
    for (Rank member : region.members) load_[member] = 0;
  }

  Rank choose(std::int64_t bytes, const std::map<Rank, std::int64_t>& own_bytes) {
    auto own = [&](Rank rank) {
      const auto it = own_bytes.find(rank);
      return it == own_bytes.end() ? std::int64_t{0} : it->second;
    };
    const auto best = std::min_element(load_.begin(), load_.end(), [&](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : own(a.first) > own(b.first);
    });
    best->second += bytes;
    return best->first;
  }

 private:
  std::map<Rank, std::int64_t> load_;
};

template <class Items, class Size>
std::vector<std::size_t> largest_first(const Items& items, Size&& size) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(items[a]) > size(items[b]); });
  return order;
}

/// Three-step aggregation (Collom, Li, Bienz: Optimizing Irregular Communication with Neighborhood Collectives and
/// Locality-Aware Parallelism, section 3.2, Algorithm 4: one lane for each ordered pair of regions, the other regions
/// dealt over the ranks of a region by size).
class ThreeStep final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    for (const Link& link : view.in) {
      Lane lane{link.region, view.region.id, -1, -1, {}};
      for (const SourceBytes& source : link.sources) lane.pieces.push_back({source.rank, 0, source.bytes});
      lanes.push_back(std::move(lane));
    }
    Balance balance(view.region);
    for (std::size_t i : largest_first(view.in, [](const Link& link) { return link.bytes(); })) {
      std::map<Rank, std::int64_t> own_bytes;
      for (const CrossEdge& edge : view.in[i].edges) own_bytes[edge.destination] += edge.bytes;
      lanes[i].receiver = balance.choose(view.in[i].bytes(), own_bytes);
    }
    return lanes;
  }

  void assign_senders(const RegionView& view, std::vector<Lane>& lanes) const override {
    Balance balance(view.region);
    for (std::size_t i : largest_first(lanes, [](const Lane& lane) { return lane.bytes(); })) {
      std::map<Rank, std::int64_t> own_bytes;
      for (const Piece& piece : lanes[i].pieces) own_bytes[piece.source] += piece.bytes();
      lanes[i].sender = balance.choose(lanes[i].bytes(), own_bytes);
    }
  }
};

}  // namespace

std::unique_ptr<Strategy> make_three_step(const StrategySettings&) {
  return std::make_unique<ThreeStep>();
}

}  // namespace laneway
