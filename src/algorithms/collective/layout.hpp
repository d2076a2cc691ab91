#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "base/bytes/types.hpp"

namespace laneway {

/// Which region each rank of a communicator is in, learnt once a communicator. Regions are numbered by their lowest
/// ranks; they may differ in size, and may have one rank. It is kept as runs of equal regions: those of a job whose
/// nodes are full are one run.
class Layout {
 public:
  /// Regions of one size with numbers that follow each other.
  struct Run {
    Rank region;   ///< the first
    Rank regions;  ///< their number
    Rank size;     ///< of each
    Rank first;    ///< ranks of all regions before; where ranks are placed in blocks, the first rank
  };
  enum class Placement : std::uint8_t {
    blocks,  ///< a region's ranks follow each other, and regions do
    dealt,   ///< ranks go to regions in turn, one at a time
    table    ///< any other: no few numbers say where ranks are that were put there one by one. 12 bytes a rank
  };

  /// `region_of_rank`: any ids, equal for ranks of one region.
  explicit Layout(std::span<const Rank> region_of_rank);

  [[nodiscard]] Rank ranks() const { return ranks_; }
  [[nodiscard]] Rank regions() const { return runs_.back().region + runs_.back().regions; }
  [[nodiscard]] Placement placement() const { return placement_; }
  /// By the numbers of their regions.
  [[nodiscard]] std::span<const Run> runs() const { return runs_; }

  [[nodiscard]] Rank region(Rank rank) const;
  /// Its number among the members of its region.
  [[nodiscard]] Rank index(Rank rank) const;
  [[nodiscard]] Rank size(Rank region) const { return run_of(region).size; }
  [[nodiscard]] Rank largest() const { return largest_; }
  [[nodiscard]] Rank smallest() const { return smallest_; }
  /// Of the regions with lower numbers.
  [[nodiscard]] Rank ranks_before(Rank region) const {
    const Run& run = run_of(region);
    return run.first + (region - run.region) * run.size;
  }

  /// Ascending.
  [[nodiscard]] auto members(Rank region) const {
    const Rank* const order = placement_ == Placement::table ? table_.order.data() + ranks_before(region) : nullptr;
    const Rank first = placement_ == Placement::dealt ? region : ranks_before(region);
    const Rank step = placement_ == Placement::dealt ? regions() : 1;
    return std::views::iota(Rank{0}, size(region)) |
           std::views::transform([=](Rank index) { return order != nullptr ? order[index] : first + index * step; });
  }
  [[nodiscard]] Rank member(Rank region, Rank index) const { return members(region)[index]; }
  [[nodiscard]] Rank leader(Rank region) const { return member(region, 0); }

  /// Each region cut into `parts` of neighbours, as equal as can be; regions of fewer ranks have one rank a part.
  [[nodiscard]] Layout refined(Rank parts) const;

 private:
  struct Table {
    std::vector<Rank> region;
    std::vector<Rank> index;
    std::vector<Rank> order;  // region after region
  };

  [[nodiscard]] const Run& run_of(Rank region) const;

  std::vector<Run> runs_;
  Table table_;
  Rank ranks_ = 0;
  Rank largest_ = 0;
  Rank smallest_ = 0;
  Placement placement_ = Placement::table;
};

}  // namespace laneway
