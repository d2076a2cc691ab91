#include "collectives/layout.hpp"

#include <algorithm>
#include <map>

namespace laneway {

Layout::Layout(std::span<const Rank> region_of_rank) {
  std::map<Rank, Rank> number;  // of a region's id
  std::vector<Rank> sizes;
  region_.reserve(region_of_rank.size());
  index_.reserve(region_of_rank.size());
  for (const Rank id : region_of_rank) {
    const auto [it, is_new] = number.try_emplace(id, static_cast<Rank>(sizes.size()));
    if (is_new) sizes.push_back(0);
    Rank& size = sizes[static_cast<std::size_t>(it->second)];
    region_.push_back(it->second);
    index_.push_back(size++);
    largest_ = std::max(largest_, size);
  }
  first_.reserve(sizes.size() + 1);
  first_.push_back(0);
  for (const Rank size : sizes) first_.push_back(first_.back() + static_cast<std::size_t>(size));
  order_.resize(region_.size());
  for (std::size_t rank = 0; rank < region_.size(); ++rank)
    order_[first_[static_cast<std::size_t>(region_[rank])] + static_cast<std::size_t>(index_[rank])] =
        static_cast<Rank>(rank);
}

Layout Layout::refined(Rank parts) const {
  std::vector<Rank> ids;
  ids.reserve(region_.size());
  for (Rank rank = 0; rank < ranks(); ++rank) {
    const std::int64_t members = size(region(rank));
    const std::int64_t cut = std::clamp<std::int64_t>(parts, 1, members);
    ids.push_back(static_cast<Rank>(region(rank) * static_cast<std::int64_t>(largest_) + index(rank) * cut / members));
  }
  return Layout(ids);
}

}  // namespace laneway
