#include "algorithms/collective/layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace laneway {

Layout::Layout(std::span<const Rank> region_of_rank) : ranks_(static_cast<Rank>(region_of_rank.size())) {
  std::map<Rank, Rank> number;  // of a region's id
  std::vector<Rank> sizes;
  Table table;
  for (const Rank id : region_of_rank) {
    const auto [it, is_new] = number.try_emplace(id, static_cast<Rank>(sizes.size()));
    if (is_new) sizes.push_back(0);
    table.region.push_back(it->second);
    table.index.push_back(sizes[static_cast<std::size_t>(it->second)]++);
  }
  Rank before = 0;
  for (Rank region = 0; region < static_cast<Rank>(sizes.size()); ++region) {
    const Rank size = sizes[static_cast<std::size_t>(region)];
    if (runs_.empty() || runs_.back().size != size) runs_.push_back({region, 0, size, before});
    ++runs_.back().regions;
    before += size;
  }
  runs_.shrink_to_fit();
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  smallest_ = smallest;
  largest_ = largest;
  const auto all = std::views::iota(Rank{0}, ranks_);
  if (std::ranges::is_sorted(table.region)) {
    placement_ = Placement::blocks;
  } else if (std::ranges::equal(table.region, all, {}, {}, [&](Rank rank) { return rank % regions(); })) {
    placement_ = Placement::dealt;
  } else {
    table.order.resize(table.region.size());
    for (const Rank rank : all) {
      const auto r = static_cast<std::size_t>(rank);
      table.order[static_cast<std::size_t>(ranks_before(table.region[r]) + table.index[r])] = rank;
    }
    table_ = std::move(table);
  }
}

const Layout::Run& Layout::run_of(Rank region) const {
  return *(std::ranges::upper_bound(runs_, region, {}, &Run::region) - 1);
}

Rank Layout::region(Rank rank) const {
  if (placement_ == Placement::table) return table_.region[static_cast<std::size_t>(rank)];
  if (placement_ == Placement::dealt) return rank % regions();
  const Run& run = *(std::ranges::upper_bound(runs_, rank, {}, &Run::first) - 1);
  return run.region + (rank - run.first) / run.size;
}

Rank Layout::index(Rank rank) const {
  if (placement_ == Placement::table) return table_.index[static_cast<std::size_t>(rank)];
  if (placement_ == Placement::dealt) return rank / regions();
  return rank - ranks_before(region(rank));
}

Layout Layout::refined(Rank parts) const {
  std::vector<Rank> ids;
  ids.reserve(static_cast<std::size_t>(ranks()));
  for (Rank rank = 0; rank < ranks(); ++rank) {
    const std::int64_t members = size(region(rank));
    const std::int64_t cut = std::clamp<std::int64_t>(parts, 1, members);
    ids.push_back(static_cast<Rank>(region(rank) * static_cast<std::int64_t>(largest_) + index(rank) * cut / members));
  }
  return Layout(ids);
}

}  // namespace laneway
