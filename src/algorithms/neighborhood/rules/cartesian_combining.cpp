#include <algorithm>

#include "algorithms/neighborhood/strategy.hpp"

namespace laneway::lanes::cartesian_combining {

namespace {

/// Message combining for stencils on a grid of ranks (designed from the idea of Träff, Carpen-Amarie, Hunold, Rougier:
/// Message-Combining Algorithms for Isomorphic, Sparse Collective Communication, 2016; Träff, Hunold: Cartesian
/// Collective Communication, 2019; known by title only).
///
/// Data travels one dimension after the other: first to the rank that has the destination's first coordinate and the
/// source's others, which hands it on along the second dimension, together with its own, and so on. A neighborhood of
/// radius r in d dimensions takes 2rd messages rather than (2r+1)^d - 1. The ranks with equal first coordinates are a
/// region, so this is one lane from each source to its counterpart in every region that it sends to, and for the next
/// dimension the same inside.
class CartesianCombining final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    const std::vector<Rank>& members = view.region.members;
    for (const Traffic& traffic : view.in)
      for (const SourceBytes& source : traffic.sources) {
        // Lines of a grid are alike: counterparts have equal distances from the first rank. Elsewhere any member will
        // do.
        const Rank counterpart = view.region.id + source.rank - traffic.region;
        const bool is_member = std::binary_search(members.begin(), members.end(), counterpart);
        const Rank receiver = is_member ? counterpart : members[static_cast<std::size_t>(source.rank) % members.size()];
        lanes.push_back({traffic.region, view.region.id, source.rank, receiver, {{source.rank, 0, source.bytes}}});
      }
    return lanes;
  }

  void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    for (Lane& lane : lanes) lane.sender = lane.pieces.front().source;
  }
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"cartesian_combining",
           "data travels along one dimension of a grid of ranks after the other, combined in each",
           "after Träff, Carpen-Amarie, Hunold, Rougier: Message-Combining Algorithms for Isomorphic, Sparse "
           "Collective Communication, 2016; Träff, Hunold: Cartesian Collective Communication, 2019 (known by title)",
           "all, small messages", "the dimensions of a grid (lnw_grid)", Traits{.needs = Traits::Needs::grid},
           new_strategy<CartesianCombining>, 9}};
}

}  // namespace laneway::lanes::cartesian_combining
