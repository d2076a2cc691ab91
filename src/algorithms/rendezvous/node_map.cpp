#include "algorithms/rendezvous/node_map.hpp"

#include <algorithm>
#include <numeric>

namespace laneway {

NodeMap::NodeMap(const std::vector<Rank>& first) : ranks_(static_cast<Rank>(first.size())) {
  std::vector<Rank> sizes;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const Rank leader = first[static_cast<std::size_t>(rank)];
    auto at = std::lower_bound(leaders_.begin(), leaders_.end(), leader);
    // A node's first rank comes before its others, so leaders come in ascending order.
    if (at == leaders_.end() || *at != leader) {
      at = leaders_.insert(at, leader);
      sizes.push_back(0);
    }
    const auto node = static_cast<Rank>(at - leaders_.begin());
    ++sizes[static_cast<std::size_t>(node)];
    if (runs_.empty() || runs_.back().node != node) runs_.push_back({rank, node});
  }
  nodes_ = static_cast<Rank>(leaders_.size());
  largest_ = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  smallest_ = sizes.empty() ? 0 : *std::min_element(sizes.begin(), sizes.end());
  const auto even = [&] {
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i].node != static_cast<Rank>(i) || runs_[i].begin != static_cast<Rank>(i) * largest_) return false;
    return true;
  };
  if (runs_.size() == leaders_.size() && even()) {
    each_ = largest_;
    runs_ = {};
    leaders_ = {};
  }
  for (Rank node = 0; node < nodes_; ++node) following_ = std::max(following_, following(node));
  runs_.shrink_to_fit();
  leaders_.shrink_to_fit();
}

Rank NodeMap::node_of(Rank rank) const {
  if (each_ > 0) return rank / each_;
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), rank,
                                      [](Rank wanted, const Run& run) { return wanted < run.begin; });
  return (after - 1)->node;
}

Rank NodeMap::leader_of(Rank node) const {
  return each_ > 0 ? node * each_ : leaders_[static_cast<std::size_t>(node)];
}

Rank NodeMap::following(Rank node) const {
  const Rank leader = leader_of(node);
  if (each_ > 0) return std::min(each_, ranks_ - leader);
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), leader,
                                      [](Rank wanted, const Run& run) { return wanted < run.begin; });
  return (after == runs_.end() ? ranks_ : after->begin) - leader;
}

std::vector<Rank> NodeMap::members_of(Rank node) const {
  std::vector<Rank> members;
  const auto add = [&](Rank begin, Rank end) {
    for (Rank rank = begin; rank < end; ++rank) members.push_back(rank);
  };
  if (each_ > 0) add(node * each_, std::min(ranks_, (node + 1) * each_));
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (runs_[i].node == node) add(runs_[i].begin, i + 1 < runs_.size() ? runs_[i + 1].begin : ranks_);
  return members;
}

std::size_t NodeMap::bytes() const {
  return sizeof *this + runs_.capacity() * sizeof(Run) + leaders_.capacity() * sizeof(Rank);
}

}  // namespace laneway
