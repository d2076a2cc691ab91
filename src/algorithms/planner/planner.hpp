#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/cost/cost_model.hpp"
#include "algorithms/lowering/lower.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/planner/overview.hpp"
#include "algorithms/trials/expected_exchanges.hpp"
#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"
#include "machine/machine.hpp"
#include "plan/pattern.hpp"
#include "plan/plan.hpp"

namespace laneway {

struct ControlMessage {
  Rank peer = 0;
  Bytes data;
};

/// One round of communication that a planner asks for.
struct Round {
  enum class Kind {
    exchange,       ///< send `control messages`, receive one control message from each rank in `from`
    region_gather,  ///< every member of the region gets the contributions of all, in the order of the members
    largest,        ///< all ranks get the largest of each number
    done,
  };
  Kind kind = Kind::done;
  std::vector<ControlMessage> control_messages;
  std::vector<Rank> from;
  Bytes contribution;
  const Region* region = nullptr;  ///< of region_gather
  std::vector<double> numbers{};   ///< of largest
};

/// Numbers as the answer to a round.
[[nodiscard]] Bytes to_bytes(const std::vector<double>& numbers);

/// Up to so many ranks let the first one choose for all of them. That takes two rounds, in which it has a control
/// message from and to each of them, instead of four rounds and a reduction.
inline constexpr Rank few_ranks = 32;

/// What all ranks of a communicator agree on for one plan.
struct PlanOptions {
  bool deduplicate = true;
  LoweringOptions lowering;
  const CostModel* costs = nullptr;  ///< needed where there is more than one strategy to choose from
  /// A strategy that relays is chosen if it makes up for its setup within so many exchanges.
  double exchanges = number_of_exchanges(exchanges_of_requests);
  /// Whether what is done to learn the costs counts as setup. It is counted, not timed: plans depend on no clock.
  bool counts_setup = false;
  /// How many ranks there are, if they may let one of them choose for all; 0: each region chooses for itself.
  Rank ranks = 0;
  /// Whether messages are packed, as those are that only the MPI library carries; otherwise that is decided later.
  bool packs = true;
  int network_distance = 0;  ///< this rank's own: how far the nearest network interface is, 0 if that is not known
};

/// The strategies from which a planner may choose; with one there is nothing to choose.
using Strategies = std::vector<const Strategy*>;

/// The strategies that a choice stands for.
class OwnedStrategies {
 public:
  OwnedStrategies(const StrategyChoice& choice, const StrategySettings& settings) {
    for (const StrategyRow* row : choice.rows()) strategies_.push_back(row->make(settings));
  }

  [[nodiscard]] Strategies get() const {
    Strategies strategies;
    for (const auto& strategy : strategies_) strategies.push_back(strategy.get());
    return strategies;
  }

 private:
  std::vector<std::unique_ptr<Strategy>> strategies_;
};

/// What a planner has chosen, and why. The same on all ranks.
struct Selection {
  std::size_t chosen = 0;               ///< index among the strategies
  std::vector<Prediction> predictions;  ///< of each strategy; none if there was nothing to choose
  double setup_seconds = 0;             ///< that learning the costs takes, by what was done for it
};

/// A level of the machine inside the region of a planner.
struct InnerLevel {
  Region region;  ///< the calling rank's
  Strategies strategies;
  bool deduplicate = true;
  bool if_needed = false;  ///< of a strategy of several levels, if one is chosen; there is none for others
};

/// The plan in which each edge is one message. Local.
[[nodiscard]] Plan plan_direct(Rank rank, const Demand& demand, const LoweringOptions& options = {});
/// The same, with messages that are not packed.
[[nodiscard]] Plan lower_direct(Rank rank, const Demand& demand, const LoweringOptions& options = {});

/// The setup skeleton: turns one rank's pattern into its plan in a fixed number of rounds, without knowing how they are
/// carried. Strategies never communicate; nothing here grows with the number of ranks, only with the rank's own edges
/// and those of its region.
///
/// With levels inside, what moves within a region is again a pattern, for which a planner of the next level makes the
/// plan: what sources hand to the lanes' senders, what lanes' receivers hand on, and the edges that never leave.
///
///     for (Round round = planner.begin(); round.kind != Round::Kind::done;) round = planner.resume(carry(round));
///     Plan plan = planner.take_plan();
class Planner {
 public:
  /// `region` must outlive the planner. `inner`: the levels inside `region`, outermost first.
  Planner(Rank rank, Demand demand, const Region& region, Strategies strategies, const PlanOptions& options,
          std::span<const InnerLevel> inner = {});
  Planner(Rank rank, const RankPattern& pattern, const Region& region, Strategies strategies,
          const PlanOptions& options, std::span<const InnerLevel> inner = {})
      : Planner(rank, Demand(pattern), region, std::move(strategies), options, inner) {}
  Planner(Rank rank, const RankPattern& pattern, const Region& region, const Strategy& strategy,
          const PlanOptions& options, std::span<const InnerLevel> inner = {})
      : Planner(rank, Demand(pattern), region, Strategies{&strategy}, options, inner) {}

  /// `peer_regions`, if given, is what an earlier planner on the same topology and machine found.
  Round begin(const std::map<Rank, Rank>* peer_regions = nullptr);

  /// Whether the round that `begin` has returned is a control message to the first rank, which chooses for all. It gets
  /// those of the others in its next round, and answers each; the others hear nothing in their next and the answer in
  /// the third.
  [[nodiscard]] bool lets_first_choose() const {
    return next_ == &Planner::choose_for_all || next_ == &Planner::await_choice;
  }

  /// `inbox[i]` is the control message from `from[i]`, or the contribution of the region's i-th member.
  Round resume(const std::vector<Bytes>& inbox);

  [[nodiscard]] Plan take_plan() { return std::move(plan_); }

  /// Region id of every peer: a property of topology and machine that later planners may be given.
  [[nodiscard]] const std::map<Rank, Rank>& peer_regions() const { return peer_regions_; }
  /// After the last round, this region's traffic and lanes.
  [[nodiscard]] const RegionView& view() const { return view_; }
  [[nodiscard]] const Itinerary& itinerary() const { return itinerary_; }
  [[nodiscard]] const Selection& selection() const { return selection_; }

 private:
  using Phase = Round (Planner::*)(const std::vector<Bytes>&);

  Round counted(Round round);

  void find_blocks();
  [[nodiscard]] Rank inner_id() const;
  [[nodiscard]] ViewPart own_part() const;
  Round send_sizes();
  Round send_blocks();
  Round send_to_first();
  Round choose_for_all(const std::vector<Bytes>& inbox);
  Round await_choice(const std::vector<Bytes>& inbox);
  Round follow_choice(const std::vector<Bytes>& inbox);
  Round go_on();
  Round find_forwards();
  Round learn_regions(const std::vector<Bytes>& inbox);
  Round share_sizes(const std::vector<Bytes>& inbox);
  Round answer_lanes(const std::vector<Bytes>& inbox);
  Round share_lanes(const std::vector<Bytes>& inbox);
  Round choose_senders(const std::vector<Bytes>& inbox);
  Round agree_on_costs();
  Round choose(const std::vector<Bytes>& inbox);
  Round announce_receivers();
  Round announce_destinations(const std::vector<Bytes>& inbox);
  Round finish(const std::vector<Bytes>& inbox);
  Round plan_inside();
  Round end_with(Plan plan);
  Round next_child();
  Round resume_child(const std::vector<Bytes>& inbox);

  [[nodiscard]] Rank region_of(Rank peer) const { return peer_regions_.at(peer); }
  [[nodiscard]] bool crosses(const Edge& edge) const;
  [[nodiscard]] bool relays() const;
  [[nodiscard]] bool merges_all() const;
  [[nodiscard]] bool deduplicates() const { return options_.deduplicate && strategy_->deduplicates(); }
  [[nodiscard]] const RegionView& seen_by(const Strategy& strategy) const {
    return strategy.deduplicates() ? view_ : unmerged_;
  }
  [[nodiscard]] InsideEdges inside_edges() const;
  [[nodiscard]] LoweringOptions lowering() const;
  [[nodiscard]] RangeList source_ranges(std::size_t edge) const;
  [[nodiscard]] RangeList in_buffer(const RangeList& source_ranges) const;
  [[nodiscard]] const Traffic& traffic_from(Rank region) const;
  void find_cut_pieces();
  [[nodiscard]] bool is_cut(std::size_t lane, std::size_t piece) const { return is_cut_[first_piece_[lane] + piece]; }
  template <class F>
  void for_each_cut_arrival(Rank receiver, Rank destination, F&& f) const;

  struct Child {
    Strategies strategies;
    Demand demand;
  };

  Rank rank_;
  const Demand demand_;
  const RankPattern& pattern_;
  const Region& region_;
  const Strategies strategies_;
  const Strategy* strategy_;  ///< the one chosen; until then the first
  bool relays_inside_;        ///< whether it does; until it is chosen, whether some strategy does
  const PlanOptions options_;
  std::span<const InnerLevel> inner_;
  const Region* scope_ = nullptr;  ///< whose ranks choose together; null: all

  Phase next_ = nullptr;
  std::map<Rank, Rank> peer_regions_;
  std::vector<std::size_t> source_order_;   ///< edges by ascending (peer, order of the arguments)
  std::vector<std::int64_t> source_begin_;  ///< by edge: where its own bytes begin, without deduplication
  std::map<Rank, Block> blocks_;
  std::vector<Rank> expected_;
  double setup_seconds_ = 0;  // of the control messages and gathers so far
  Bytes own_message_;         ///< of the rank that chooses for all, to itself
  std::optional<EdgeRanges> edge_ranges_;
  RegionView view_;
  RegionView unmerged_;                      ///< if some strategy merges nothing
  std::vector<std::vector<Lane>> in_lanes_;  ///< by strategy
  std::vector<std::vector<Lane>> out_lanes_;
  Selection selection_;
  std::map<Rank, std::vector<std::size_t>> lanes_of_receiver_;  // indices of Itinerary::in_lanes
  std::vector<std::size_t> first_piece_;                        // by such a lane: where it begins in is_cut_
  std::vector<bool> is_cut_;                                    // by piece of such a lane
  Itinerary itinerary_;
  Plan plan_;

  std::unique_ptr<Lowering> lowering_;
  PlanOptions child_options_;
  std::vector<Child> children_;
  std::unique_ptr<Planner> child_;
  std::vector<Plan> child_plans_;
};

}  // namespace laneway
