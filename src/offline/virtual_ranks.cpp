#include "offline/virtual_ranks.hpp"

#include <algorithm>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "runtime/carriers/localizer.hpp"

namespace laneway {

namespace {

struct LevelOf {
  int level;
  Strategies strategies;
  bool deduplicate;
  bool if_needed = false;
};

/// What a rank whose state machine does not run here sends to one whose does, in the exchange of this number.
using Outside = std::function<Bytes(Rank from, Rank to, int exchange)>;

[[noreturn]] Bytes missing_message(Rank from, Rank to) {
  throw Error(ErrorKind::topology, "setup: rank " + std::to_string(to) + " expects a letter from rank " +
                                       std::to_string(from) +
                                       ", which sends none: the two disagree about the edges between them");
}

/// The state machines of some ranks, which take their rounds together. Of a region there are all ranks or none.
template <class StateMachine>
class Group {
 public:
  explicit Group(std::vector<Rank> ascending) : ranks_(std::move(ascending)), costs_(ranks_.size()) {}

  /// The machine of the next rank, and what begins it and returns its first round.
  template <class Begin>
  void add(StateMachine& machine, Begin&& begin) {
    machines_.push_back(&machine);
    rounds_.push_back(timed(rounds_.size(), begin));
  }
  /// Its first round is the exchange after the one that it would be.
  void skip_exchange() { ++exchange_; }

  [[nodiscard]] bool done() const { return rounds_.empty() || kind() == Round::Kind::done; }
  [[nodiscard]] bool is_at(int exchange) const { return kind() == Round::Kind::exchange && exchange_ == exchange; }
  [[nodiscard]] std::span<const Rank> ranks() const { return ranks_; }
  [[nodiscard]] std::span<Round> rounds() { return rounds_; }
  [[nodiscard]] const std::vector<SetupCost>& costs() const { return costs_; }

  /// `agreed`: the largest numbers of all ranks; if it is empty, those of this group are put there and stand for all.
  void step(const Outside& outside, std::vector<double>& agreed) {
    std::vector<std::vector<Bytes>> inboxes(ranks_.size());
    if (kind() == Round::Kind::exchange) {
      exchange(outside, inboxes);
      ++exchange_;
    } else if (kind() == Round::Kind::region_gather) {
      gather(inboxes);
    } else {
      if (agreed.empty()) agreed = largest_numbers();
      for (std::vector<Bytes>& inbox : inboxes) inbox = {to_bytes(agreed)};
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      rounds_[i] = timed(i, [&] { return machines_[i]->resume(inboxes[i]); });
    for (const Round& round : rounds_)
      require(round.kind == kind(), ErrorKind::internal, "virtual ranks are in different rounds of the setup");
  }

 private:
  [[nodiscard]] Round::Kind kind() const { return rounds_.front().kind; }

  template <class F>
  Round timed(std::size_t i, F&& f) {
    const std::clock_t begin = std::clock();
    Round round = f();
    costs_[i].processor_seconds += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    return round;
  }

  [[nodiscard]] bool contains(Rank rank) const { return std::binary_search(ranks_.begin(), ranks_.end(), rank); }
  [[nodiscard]] std::size_t index(Rank rank) const {
    return static_cast<std::size_t>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
  }

  void exchange(const Outside& outside, std::vector<std::vector<Bytes>>& inboxes) {
    std::map<std::pair<Rank, Rank>, std::deque<Bytes>> in_flight;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      for (ControlMessage& control_message : rounds_[i].control_messages) {
        ++costs_[i].control_messages_sent;
        costs_[i].control_bytes_sent += static_cast<std::int64_t>(control_message.data.size());
        if (contains(control_message.peer))
          in_flight[{ranks_[i], control_message.peer}].push_back(std::move(control_message.data));
      }
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      for (Rank from : rounds_[i].from) {
        if (!contains(from)) {
          inboxes[i].push_back(outside(from, ranks_[i], exchange_));
          continue;
        }
        const auto it = in_flight.find({from, ranks_[i]});
        if (it == in_flight.end() || it->second.empty()) missing_message(from, ranks_[i]);
        inboxes[i].push_back(std::move(it->second.front()));
        it->second.pop_front();
      }
    }
    for (const auto& [pair, control_messages] : in_flight)
      require(control_messages.empty(), ErrorKind::topology,
              "setup: rank " + std::to_string(pair.second) + " does not expect the letter of rank " +
                  std::to_string(pair.first));
  }

  void gather(std::vector<std::vector<Bytes>>& inboxes) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ++costs_[i].region_gathers;
      for (Rank member : rounds_[i].region->members) {
        inboxes[i].push_back(rounds_[index(member)].contribution);
        costs_[i].region_gather_bytes += static_cast<std::int64_t>(inboxes[i].back().size());
      }
    }
  }

  [[nodiscard]] std::vector<double> largest_numbers() const {
    std::vector<double> all = rounds_.front().numbers;
    for (const Round& round : rounds_)
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], round.numbers[i]);
    return all;
  }

  std::vector<Rank> ranks_;
  std::vector<StateMachine*> machines_;
  std::vector<Round> rounds_;
  std::vector<SetupCost> costs_;
  int exchange_ = 0;
};

/// The planner of one rank, and all that it refers to.
struct VirtualRank {
  Region region;
  std::vector<InnerLevel> inner;
  std::unique_ptr<CostModel> costs;
  std::unique_ptr<Planner> planner;
};

/// Plans some ranks with as few others as that takes. Which these are follows from the control messages that are asked
/// for: the region of a rank that has to send one is planned in its turn, as far as that control message and no
/// further.
class Setup {
 public:
  Setup(const PatternOf& pattern, const Machine& machine, std::span<const LevelOf> levels,
        const LoweringOptions& lowering, const Parameters* parameters, ModelKind model = ModelKind::overlap,
        Rank few = 0, std::shared_ptr<const Fabric> fabric = nullptr, bool packs = true)
      : pattern_(pattern),
        machine_(machine),
        levels_(levels),
        lowering_(lowering),
        parameters_(parameters),
        model_(model),
        few_(few),
        fabric_(std::move(fabric)),
        packs_(packs) {}

  VirtualSetup plan(std::span<const Rank> ascending) {
    std::set<Rank> regions;
    for (Rank rank : ascending) regions.insert(region_id(rank));
    std::vector<Rank> ranks;
    for (Rank id : regions) {
      const std::vector<Rank> members = machine_.region(levels_.front().level, id).members;
      ranks.insert(ranks.end(), members.begin(), members.end());
    }
    std::sort(ranks.begin(), ranks.end());
    std::vector<VirtualRank> planned(ranks.size());
    Group<Planner> group(ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      make(planned[i], ranks[i], pattern_(ranks[i]));
      group.add(*planned[i].planner, [&] { return planned[i].planner->begin(); });
    }
    while (!group.done()) group.step(outside_, agreed_);
    VirtualSetup result;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (!std::binary_search(ascending.begin(), ascending.end(), ranks[i])) continue;
      Planner& planner = *planned[i].planner;
      result.plans.push_back(planner.take_plan());
      result.costs.push_back(group.costs()[i]);
      result.views.push_back(planner.view());
      result.itineraries.push_back(planner.itinerary());
      result.selection = planner.selection();
    }
    return result;
  }

 private:
  struct Sent {
    Rank from;
    Rank to;
    Bytes data;
  };
  /// Control messages that ranks of a region send in an exchange, by (from, to).
  using ControlMessages = std::vector<Sent>;
  /// Control messages are kept, since other regions will ask for them, but no more than this.
  static constexpr std::size_t most_kept_bytes = std::size_t{1} << 30;

  [[nodiscard]] Rank region_id(Rank rank) const { return machine_.region_id(levels_.front().level, rank); }

  void make(VirtualRank& virtual_rank, Rank rank, const RankPattern& pattern) const {
    virtual_rank.region = machine_.region(levels_.front().level, rank);
    for (const LevelOf& level : levels_.subspan(1))
      virtual_rank.inner.push_back(
          {machine_.region(level.level, rank), level.strategies, level.deduplicate, level.if_needed});
    PlanOptions options{
        .deduplicate = levels_.front().deduplicate, .lowering = lowering_, .ranks = few_, .packs = packs_};
    if (levels_.front().level == 0) options.network_distance = network_distance(machine_, rank);
    if (parameters_) {
      CostOptions cost;
      cost.model = model_;
      cost.network_message_bytes = lowering_.network_message_bytes;
      cost.fabric = fabric_;
      if (!fabric_ && !levels_.back().if_needed) cost.sharing = machine_.region(0, rank).members;
      virtual_rank.costs = std::make_unique<CostModel>(*parameters_, std::move(cost));
      options.costs = virtual_rank.costs.get();
    }
    virtual_rank.planner = std::make_unique<Planner>(rank, pattern, virtual_rank.region, levels_.front().strategies,
                                                     options, virtual_rank.inner);
  }

  Bytes control_message(Rank from, Rank to, int exchange) {
    const std::pair key{region_id(from), exchange};
    if (!kept_.contains(key)) keep(key, control_messages(key.first, exchange));
    const ControlMessages& all = kept_.at(key);
    const auto sent =
        std::lower_bound(all.begin(), all.end(), std::pair(from, to),
                         [](const Sent& a, std::pair<Rank, Rank> pair) { return std::pair(a.from, a.to) < pair; });
    if (sent == all.end() || sent->from != from || sent->to != to) missing_message(from, to);
    return sent->data;
  }

  void keep(const std::pair<Rank, int>& key, ControlMessages control_messages) {
    std::size_t bytes = 0;
    for (const Sent& sent : control_messages) bytes += sizeof(Sent) + sent.data.capacity();
    if (kept_bytes_ + bytes > most_kept_bytes) {
      kept_.clear();
      kept_bytes_ = 0;
    }
    kept_bytes_ += bytes;
    kept_.emplace(key, std::move(control_messages));
  }

  /// Ranks whose plans nobody wants know the regions of their peers: only the first exchange tells these.
  ControlMessages control_messages(Rank region, int exchange) {
    Group<Planner> group(machine_.region(levels_.front().level, region).members);
    std::vector<VirtualRank> members(group.ranks().size());
    if (exchange > 0) group.skip_exchange();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const RankPattern pattern = pattern_(group.ranks()[i]);
      std::map<Rank, Rank> peer_regions;
      for (const Edge& edge : pattern.out) peer_regions.emplace(edge.peer, region_id(edge.peer));
      for (const Edge& edge : pattern.in) peer_regions.emplace(edge.peer, region_id(edge.peer));
      make(members[i], group.ranks()[i], pattern);
      Planner& planner = *members[i].planner;
      group.add(planner, [&] { return planner.begin(exchange > 0 ? &peer_regions : nullptr); });
    }
    while (!group.is_at(exchange)) group.step(outside_, agreed_);
    ControlMessages result;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (ControlMessage& control_message : group.rounds()[i].control_messages)
        result.push_back({group.ranks()[i], control_message.peer, std::move(control_message.data)});
    std::sort(result.begin(), result.end(),
              [](const Sent& a, const Sent& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
    return result;
  }

  const PatternOf& pattern_;
  const Machine& machine_;
  const std::span<const LevelOf> levels_;
  const LoweringOptions& lowering_;
  const Parameters* parameters_;
  const ModelKind model_;
  const Rank few_;
  const std::shared_ptr<const Fabric> fabric_;  ///< that messages inside nodes take; null: ranks share memory
  const bool packs_;
  const Outside outside_ = [this](Rank from, Rank to, int exchange) { return control_message(from, to, exchange); };
  std::vector<double> agreed_;
  std::map<std::pair<Rank, int>, ControlMessages> kept_;  // by region and exchange
  std::size_t kept_bytes_ = 0;
};

std::vector<Rank> all_ranks(std::size_t ranks) {
  std::vector<Rank> result(ranks);
  std::iota(result.begin(), result.end(), Rank{0});
  return result;
}

PatternOf one_of(const Pattern& pattern) {
  return [&pattern](Rank rank) { return pattern[static_cast<std::size_t>(rank)]; };
}

}  // namespace

std::vector<Plan> localize_virtual_ranks(std::vector<Plan> plans, std::span<const Region> nodes,
                                         const LocalOptions& options) {
  const std::vector<LocalOptions> all(plans.size(), options);
  return localize_virtual_ranks(std::move(plans), nodes, all);
}

std::vector<Plan> localize_virtual_ranks(std::vector<Plan> plans, std::span<const Region> nodes,
                                         std::span<const LocalOptions> options) {
  std::vector<std::unique_ptr<Localizer>> localizers;
  Group<Localizer> group(all_ranks(plans.size()));
  for (std::size_t r = 0; r < plans.size(); ++r) {
    Localizer& localizer =
        *localizers.emplace_back(std::make_unique<Localizer>(std::move(plans[r]), nodes[r], options[r]));
    group.add(localizer, [&] { return localizer.begin(); });
  }
  std::vector<double> none;
  const Outside nobody = [](Rank from, Rank to, int) { return missing_message(from, to); };
  while (!group.done()) group.step(nobody, none);
  for (std::size_t r = 0; r < plans.size(); ++r) plans[r] = localizers[r]->take_plan();
  return plans;
}

VirtualSetup plan_virtual_ranks(const Pattern& pattern, const Machine& machine, const Strategy& strategy,
                                const PlanOptions& options, std::span<const Strategy* const> inner) {
  std::vector<LevelOf> levels = {{0, {&strategy}, options.deduplicate}};
  for (const Strategy* inside : inner)
    levels.push_back({static_cast<int>(levels.size()), {inside}, options.deduplicate});
  return Setup(one_of(pattern), machine, levels, options.lowering, nullptr, ModelKind::overlap, options.ranks, nullptr,
               options.packs)
      .plan(all_ranks(pattern.size()));
}

namespace {

VirtualSetup plan_levels(const PatternOf& pattern, const Machine& machine, const Levels& levels,
                         std::span<const Rank> planned, const StrategySettings& settings,
                         const LoweringOptions& lowering, const Parameters* parameters, ModelKind model, Rank few,
                         bool on_devices = false) {
  StrategySettings known = settings;
  known.fabric = Fabric::of(machine);
  const std::vector<int> positions = machine.find_levels(levels.names());
  const bool one_region =
      machine.region(positions.front(), 0).members.size() == static_cast<std::size_t>(machine.ranks());
  const bool by_links = on_devices && known.fabric && parameters != nullptr && positions.size() == 1 &&
                        levels.choices.front().choice.is_automatic();
  const bool by_fabric = by_links && one_region;
  const bool by_gpus = by_links && !one_region && levels.choices.front().level.empty();
  std::vector<OwnedStrategies> strategies;
  std::vector<LevelOf> all;
  std::vector<const StrategyRow*> rows;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    StrategyChoice choice = levels.choices[i].choice;
    choice.by_fabric = by_fabric;
    choice.by_gpus = by_gpus;
    strategies.emplace_back(choice, known);
    all.push_back({positions[i], strategies.back().get(), choice.deduplicate});
    if (i == 0) rows = choice.rows();
  }
  if (by_gpus) {
    const StrategyChoice direct{&find_strategy("direct")};
    strategies.emplace_back(direct, known);
    all.push_back({machine.find_levels({"", ""}).back(), strategies.back().get(), all.front().deduplicate, true});
  }
  const std::optional<Parameters> of_devices = by_links ? std::optional(parameters->between_devices()) : std::nullopt;
  VirtualSetup setup = Setup(pattern, machine, all, lowering, of_devices ? &*of_devices : parameters, model, few,
                             by_fabric ? known.fabric : nullptr)
                           .plan(planned);
  setup.strategies = std::move(rows);
  return setup;
}

}  // namespace

VirtualSetup plan_virtual_ranks(const Pattern& pattern, const Machine& machine, const Levels& levels,
                                const StrategySettings& settings, const LoweringOptions& lowering,
                                const Parameters* parameters, Rank ranks, bool on_devices) {
  return plan_levels(one_of(pattern), machine, levels, all_ranks(pattern.size()), settings, lowering, parameters,
                     ModelKind::overlap, ranks, on_devices);
}

VirtualSetup plan_some_virtual_ranks(const PatternOf& pattern, const Machine& machine, const Levels& levels,
                                     std::span<const Rank> ranks, const StrategySettings& settings,
                                     const LoweringOptions& lowering, const Parameters* parameters, ModelKind model) {
  return plan_levels(pattern, machine, levels, ranks, settings, lowering, parameters, model, 0);
}

}  // namespace laneway
