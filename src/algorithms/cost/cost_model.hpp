#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/cost/load.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "machine/fabric.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// What the cost of lanes depends on besides them.
struct CostOptions {
  std::int64_t mailbox_bytes = default_mailbox_bytes;
  std::int64_t network_message_bytes = 57344;  ///< lanes are cut to messages of this size; 0: they are not
  ModelKind model = ModelKind::overlap;
  std::vector<Rank> sharing;  ///< ranks that share memory with this one, ascending; empty: messages carry everything
  std::shared_ptr<const Fabric> fabric = nullptr;  ///< the links that messages inside a node take; null: none known
  bool combines = false;  ///< the exchange is run backwards: what was sent comes back to be combined
};

/// Strategies that relay must be predicted to save so large a share of their time. Where ranks share cores, which of
/// them gets one first makes a tenth of difference. Where they have cores of their own, a plan with one stage more
/// inside the node comes out some percent too cheap, which exceeds what candidates often differ by. Where nothing is
/// handed on, a plan does what edges do, in pieces: it is as fast, unless it has merged what edges send twice.
[[nodiscard]] inline double least_gain(const Parameters& parameters, int handovers) {
  if (handovers == 0) return 0.25;
  return parameters.cores > 0 ? 0.1 : 0.01 + 0.03 * handovers;
}

/// Costs of what a strategy would do, from sizes alone: no plan is made.
class CostModel {
 public:
  CostModel(const Parameters& parameters, CostOptions options)
      : parameters_(parameters), options_(std::move(options)) {}

  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<Rank>& sharing() const { return options_.sharing; }
  /// The same on other ranks. The parameters must outlive it, too.
  [[nodiscard]] CostModel of_ranks_that_share(std::vector<Rank> memory) const {
    CostOptions options = options_;
    options.sharing = std::move(memory);
    return {parameters_, std::move(options)};
  }

  /// Each edge is one message.
  [[nodiscard]] NodeLoad load_of_edges(const RegionView& view) const;
  /// `in` lanes need no senders. `scatter`: by whose rule what they have brought is handed on between the regions of
  /// the next level; null: each receiver hands it on to all that need it.
  [[nodiscard]] NodeLoad load_of_lanes(const RegionView& view, std::span<const Lane> in, std::span<const Lane> out,
                                       const Strategy* scatter = nullptr) const;
  /// Of the strategy's lanes, or of the edges where it relays nothing.
  [[nodiscard]] NodeLoad load(const Strategy& strategy, const RegionView& view, std::span<const Lane> in,
                              std::span<const Lane> out) const {
    return strategy.relays() ? load_of_lanes(view, in, out, strategy.scatter()) : load_of_edges(view);
  }
  /// Of some region, or of all.
  [[nodiscard]] Prediction predict(std::span<const NodeLoad> regions) const {
    return laneway::predict(regions, parameters_, options_.model);
  }

 private:
  /// What a destination needs of a lane.
  struct Need {
    Rank destination = 0;
    double bytes = 0;
  };
  /// What a rank has for a region of the next level.
  struct Held {
    double bytes = 0;  ///< without duplicates
    std::map<Rank, double> needs = {};
  };
  /// By such a region and by rank.
  using HeldOf = std::map<Rank, std::map<Rank, Held>>;

  [[nodiscard]] static std::vector<Need> needs_of(const Traffic& traffic, bool merged, const Lane& lane, bool by_links);
  [[nodiscard]] static std::vector<Need> hold(const RegionView& view, const Lane& lane, std::span<const Need> needs,
                                              HeldOf& held);
  [[nodiscard]] static std::vector<RegionView> inner_views(const RegionView& view, const HeldOf& held);
  [[nodiscard]] bool shares(Rank peer) const;
  [[nodiscard]] Hop inside(Stage stage, Rank peer, std::int64_t bytes, std::int64_t messages = 1) const;
  [[nodiscard]] Hop across(Stage stage, Rank peer, std::int64_t bytes) const;
  [[nodiscard]] Hop between(const RegionView& view, Rank region, Stage stage, Rank peer, std::int64_t bytes) const;
  void add_inside(const RegionView& view, NodeLoad& load) const;
  void add_gather(const Lane& lane, NodeLoad& load) const;
  void add_scatter(Rank receiver, std::span<const Need> needs, NodeLoad& load, LinkLoads* links) const;
  void add_inner_scatter(const Strategy& scatter, const RegionView& inner, NodeLoad& load) const;
  [[nodiscard]] std::optional<LinkLoads> no_link_loads() const;
  void add_busiest(const std::optional<LinkLoads>& links, NodeLoad& load) const;

  const Parameters& parameters_;
  const CostOptions options_;
};

}  // namespace laneway
