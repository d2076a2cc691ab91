#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "algorithms/neighborhood/strategy.hpp"

namespace laneway::lanes::leader_scatter {

namespace {

/// The destinations of one source in a region, by GPU, with the bytes of their edges.
using Destinations = std::map<Rank, std::map<Rank, std::int64_t>>;

Destinations destinations_of(const RegionView& view, const Traffic& traffic, Rank source) {
  Destinations result;
  for (const CrossEdge& edge : traffic.edges) {
    if (edge.source != source) continue;
    const auto member = std::lower_bound(view.region.members.begin(), view.region.members.end(), edge.destination);
    const Rank gpu = view.inner[static_cast<std::size_t>(member - view.region.members.begin())];
    result[gpu][edge.destination] += edge.bytes;
  }
  return result;
}

/// A GPU's leader is its first rank (section V-A: the GCD with the even index). Where the leader is no destination, a
/// destination stands for it.
Rank representative(Rank gpu, const std::map<Rank, std::int64_t>& destinations) {
  return destinations.contains(gpu) ? gpu : destinations.begin()->first;
}

/// Leader-based scatter (Temuçin, Gazimirsaeed, Grant, Afsahi: ROCM-Aware Leader-based Designs for MPI Neighbourhood
/// Collectives, section V), for regions that are nodes with GPUs inside, or GPUs inside a node.
///
/// Between nodes (Algorithm 2, Figures 4 to 6) a source cuts its data evenly over the GPUs of the other node on which
/// it has destinations, one representative each; the last one takes the remainder. As printed, the algorithm counts
/// leaders on one side and GPUs on the other, and sends nothing at all where no destination is a leader. What
/// representatives hold is then handed on (Algorithms 3 and 4) by Redistribute.
///
/// Inside a node (Algorithm 1) data for several ranks of one GPU is cut over them by the links from the source's device
/// (Equation 2) or, where it has none, by hops (Equation 1), and they exchange their parts. Equation 1 sums to k - 1
/// over k destinations and is divided by that; it says nothing where all hops are 0 (ranks on one device), where parts
/// are equal.
class LeaderScatter final : public Strategy {
 public:
  explicit LeaderScatter(const StrategySettings& settings) : fabric_(settings.fabric) {}

  [[nodiscard]] const Strategy* inside() const override { return this; }
  [[nodiscard]] const Strategy* scatter() const override { return &redistribute_; }

  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    for (const Traffic& traffic : view.in)
      for (const SourceBytes& source : traffic.sources) {
        const Destinations gpus = destinations_of(view, traffic, source.rank);
        const std::vector<std::pair<Rank, double>> loads = fabric_ && fabric_->joins(source.rank, view.region.id)
                                                               ? on_node_loads(source.rank, gpus)
                                                               : even_loads(gpus);
        double sum = 0;
        std::int64_t begin = 0;
        for (std::size_t i = 0; i < loads.size(); ++i) {
          sum += loads[i].second;
          const std::int64_t end = i + 1 < loads.size() ? cut(source.bytes, sum) : source.bytes;
          if (end > begin)
            lanes.push_back({traffic.region, view.region.id, -1, loads[i].first, {{source.rank, begin, end}}});
          begin = std::max(begin, end);
        }
      }
    return lanes;
  }

  void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    for (Lane& lane : lanes) lane.sender = lane.pieces.front().source;
  }

 private:
  /// Step 2 between the GPUs of a node: what one rank holds for another GPU goes to its representative in one piece.
  class Redistribute final : public Strategy {
   public:
    [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
      std::vector<Lane> lanes;
      for (const Traffic& traffic : view.in)
        for (const SourceBytes& source : traffic.sources) {
          std::map<Rank, std::int64_t> destinations;
          for (const auto& [inner, members] : destinations_of(view, traffic, source.rank))
            destinations.insert(members.begin(), members.end());
          lanes.push_back({traffic.region,
                           view.region.id,
                           -1,
                           representative(view.region.id, destinations),
                           {{source.rank, 0, source.bytes}}});
        }
      return lanes;
    }

    void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
      for (Lane& lane : lanes) lane.sender = lane.pieces.front().source;
    }
  };

  /// A cut after this fraction of a block, on a multiple of eight bytes so that no element is torn.
  static std::int64_t cut(std::int64_t bytes, double fraction) {
    return std::min<std::int64_t>(std::llround(static_cast<double>(bytes) * fraction / 8) * 8, bytes);
  }

  static std::vector<std::pair<Rank, double>> even_loads(const Destinations& gpus) {
    std::vector<std::pair<Rank, double>> loads;
    for (const auto& [gpu, destinations] : gpus)
      loads.emplace_back(representative(gpu, destinations), 1.0 / static_cast<double>(gpus.size()));
    return loads;
  }

  [[nodiscard]] std::vector<std::pair<Rank, double>> on_node_loads(Rank source, const Destinations& gpus) const {
    std::vector<Rank> ranks;
    for (const auto& [gpu, destinations] : gpus)
      for (const auto& [rank, bytes] : destinations) ranks.push_back(rank);
    int links = 0;
    int hops = 0;
    for (Rank rank : ranks) {
      links += fabric_->links(source, rank);
      hops += fabric_->hops(source, rank);
    }
    const auto k = static_cast<double>(ranks.size());
    std::vector<std::pair<Rank, double>> loads;
    for (Rank rank : ranks) {
      double load = 1 / k;
      if (links > 0)
        load = static_cast<double>(fabric_->links(source, rank)) / links;
      else if (hops > 0 && k > 1)
        load = static_cast<double>(hops - fabric_->hops(source, rank)) / (hops * (k - 1));
      loads.emplace_back(rank, load);
    }
    return loads;
  }

  std::shared_ptr<const Fabric> fabric_;
  Redistribute redistribute_;
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"leader_scatter",
           "each source cuts its data over the destination's GPUs, one rank each, by the links inside a node",
           "Temuçin, Gazimirsaeed, Grant, Afsahi: ROCM-Aware Leader-based Designs for MPI Neighbourhood Collectives, "
           "section V",
           "all, large messages", "node with gpu inside, or gpu",
           Traits{.scales = false, .needs = Traits::Needs::fabric, .levels = 2}, new_strategy<LeaderScatter>, 8}};
}

}  // namespace laneway::lanes::leader_scatter
