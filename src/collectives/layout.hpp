#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace laneway {

/// Which region each rank of a communicator is in: one table, learnt once a communicator. Regions are numbered by their
/// lowest ranks; they may differ in size, and may have one rank. 12 bytes a rank.
class Layout {
 public:
  /// `region_of_rank`: any ids, equal for ranks of one region.
  explicit Layout(std::span<const Rank> region_of_rank);

  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(region_.size()); }
  [[nodiscard]] Rank regions() const { return static_cast<Rank>(first_.size()) - 1; }
  [[nodiscard]] Rank region(Rank rank) const { return region_[static_cast<std::size_t>(rank)]; }
  /// Ascending.
  [[nodiscard]] std::span<const Rank> members(Rank region) const {
    const auto r = static_cast<std::size_t>(region);
    return std::span(order_).subspan(first_[r], first_[r + 1] - first_[r]);
  }
  [[nodiscard]] Rank size(Rank region) const { return static_cast<Rank>(members(region).size()); }
  /// Its number among the members of its region.
  [[nodiscard]] Rank index(Rank rank) const { return index_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Rank leader(Rank region) const { return members(region).front(); }
  [[nodiscard]] Rank largest() const { return largest_; }

  /// Each region cut into `parts` of neighbours, as equal as can be; regions of fewer ranks have one rank a part.
  [[nodiscard]] Layout refined(Rank parts) const;

 private:
  std::vector<Rank> region_;
  std::vector<Rank> index_;
  std::vector<Rank> order_;
  std::vector<std::size_t> first_;  // of a region, in order_
  Rank largest_ = 0;
};

}  // namespace laneway
