#include "operations/choose/planning.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/lowering/pack.hpp"
#include "algorithms/planner/planner.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "operations/choose/costs.hpp"
#include "operations/choose/paths.hpp"
#include "operations/choose/way_back.hpp"
#include "runtime/carriers/carry.hpp"

namespace laneway {

StrategyOnPath strategies_on(MemoryPath path, Communicator& communicator, const PrivateComm& comm,
                             const Agreed& agreed) {
  const bool by_links = is_between_devices(path) && agreed.hints.inner.empty() &&
                        knows_device_links(communicator, comm, agreed.hints, agreed.sharing);
  return {choose_from(agreed.hints, agreed.regions.front(), comm.size(), by_links), path};
}

/// A plan in the making, with what it is made from.
class Planning {
 public:
  Planning(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, const StrategyOnPath& strategies)
      : hints_(agreed.hints),
        regions_(agreed.regions),
        candidates_(strategies),
        settings_(settings_of(communicator, agreed)),
        unit_bytes_(unit_bytes(agreed)),
        strategies_(strategies.strategy, settings_),
        inner_(inner_levels(communicator)),
        costs_(communicator, comm, hints_, strategies.strategy, agreed.sharing, strategies.path, unit_bytes_,
               agreed.reduction && !agreed.reduction->by_rank),
        planner_(comm.rank(), agreed.pattern, regions_.front(), strategies_.get(), options(communicator, agreed.where),
                 inner_),
        round_(planner_.begin(communicator.peer_regions(hints_))) {}

  /// The planner, if its first round can go with the agreement; else null.
  [[nodiscard]] Planner* first_chooses() { return planner_.lets_first_choose() ? &planner_ : nullptr; }
  [[nodiscard]] std::vector<ControlMessage> take_control_messages() {
    return std::exchange(round_.control_messages, {});
  }
  void go_on_with(Round round) { round_ = std::move(round); }

  /// Whether what has been begun is this, and nobody has finished it yet.
  [[nodiscard]] bool is_open_for(const StrategyOnPath& strategies) const {
    return !finished_ && strategies == candidates_;
  }

  [[nodiscard]] Planned finish(Communicator& communicator, const PrivateComm& comm) {
    carry_out_rounds(communicator, comm);
    return {.plan = std::make_shared<const Plan>(planner_.take_plan()),
            .strategy = std::string(chosen().name),
            .reasons = costs_.reasons(planner_.selection())};
  }

  [[nodiscard]] PlannedRoute finish_route(Communicator& communicator, const PrivateComm& comm, std::int64_t unit) {
    carry_out_rounds(communicator, comm);
    if (!chosen().traits.relays) return {};
    return {std::make_shared<const Route>(planner_.itinerary(), unit), chosen().name,
            planner_.take_plan().staging_bytes};
  }

 private:
  [[nodiscard]] const StrategyRow& chosen() const { return *candidates_.strategy.rows()[planner_.selection().chosen]; }

  void carry_out_rounds(Communicator& communicator, const PrivateComm& comm) {
    finished_ = true;
    carry_out(planner_, std::move(round_), communicator, comm, hints_);
  }

  static StrategySettings settings_of(Communicator& communicator, const Agreed& agreed) {
    StrategySettings settings = agreed.hints.settings;
    settings.message_cap = in_units(settings.message_cap, unit_bytes(agreed));
    settings.fabric = agreed.reduction ? nullptr : fabric_of(communicator, agreed.hints);
    return settings;
  }

  std::vector<InnerLevel> inner_levels(Communicator& communicator) {
    std::vector<InnerLevel> inner;
    const auto has_levels = [](const StrategyRow* row) { return row->traits.levels > 1; };
    if (hints_.inner.empty() && std::ranges::any_of(candidates_.strategy.rows(), has_levels)) {
      Hints of_gpus = hints_;
      of_gpus.inner = {{"", {&find_strategy("direct")}}};
      inner_strategies_.emplace_back(of_gpus.inner.front().choice, settings_);
      inner.push_back(
          {communicator.regions(of_gpus).back(), inner_strategies_.back().get(), hints_.strategy.deduplicate, true});
    }
    for (std::size_t i = 0; i < hints_.inner.size(); ++i) {
      const StrategyChoice& choice = hints_.inner[i].choice;
      inner_strategies_.emplace_back(choice, settings_);
      inner.push_back({regions_[i + 1], inner_strategies_.back().get(), choice.deduplicate});
    }
    return inner;
  }

  PlanOptions options(Communicator& communicator, const BufferMemory& where) const {
    PlanOptions options = costs_.options();
    options.packs = false;
    LoweringOptions& lowering = options.lowering;
    for (std::int64_t* bytes :
         {&lowering.direct_message_bytes, &lowering.relay_message_bytes, &lowering.network_message_bytes})
      *bytes = in_units(*bytes, unit_bytes_);
    const MemoryInfo* const device = device_memory(where);
    options.network_distance = communicator.network_distance(hints_, device ? *device : MemoryInfo{});
    return options;
  }

  const Hints hints_;
  const std::vector<Region> regions_;
  const StrategyOnPath candidates_;
  const StrategySettings settings_;
  const std::int64_t unit_bytes_;
  const OwnedStrategies strategies_;
  std::vector<OwnedStrategies> inner_strategies_;
  const std::vector<InnerLevel> inner_;
  const Costs costs_;
  Planner planner_;
  Round round_;
  bool finished_ = false;
};

std::shared_ptr<Planning> begin_planning(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed) {
  const auto planning = std::make_shared<Planning>(communicator, comm, agreed,
                                                   strategies_on(MemoryPath::staged, communicator, comm, agreed));
  return planning->first_chooses() != nullptr ? planning : nullptr;
}

FirstRound first_round(Planning& planning) {
  return {planning.first_chooses(), planning.take_control_messages()};
}

void go_on(Planning& planning, Round round) {
  planning.go_on_with(std::move(round));
}

Planned make_plan(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                  const StrategyOnPath& strategies) {
  if (agreed.reduction && agreed.reduction->back)
    return {.plan = agreed.reduction->back->plan, .reasons = agreed.reduction->back->reasons};
  return agreed.begun && agreed.begun->is_open_for(strategies)
             ? agreed.begun->finish(communicator, comm)
             : Planning(communicator, comm, agreed, strategies).finish(communicator, comm);
}

PlannedRoute plan_route(Communicator& communicator, const PrivateComm& comm, const Hints& hints, RankPattern pattern,
                        std::int64_t unit) {
  Agreed agreed;
  agreed.pattern = std::move(pattern);
  agreed.hints = hints;
  agreed.hints.inner.clear();
  agreed.regions = {communicator.regions(hints).front()};
  return Planning(communicator, comm, agreed, {hints.strategy}).finish_route(communicator, comm, unit);
}

namespace {

/// The plan that reduces, out of that of the exchange.
Plan reducing(const Plan& exchange, const AgreedReduction& reduction) {
  const Reduction& what = reduction.what;
  return reduction.by_rank ? combine_arrivals(exchange, what.pattern, what.how)
                           : transpose(exchange, reduction.turned, what.how);
}

}  // namespace

void localize(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, const NodeUse& use,
              Planned& planned) {
  if (agreed.reduction && !agreed.reduction->back)
    planned.plan = std::make_shared<const Plan>(reducing(*planned.plan, *agreed.reduction));
  if (!use.events.empty()) planned.plan = std::make_shared<const Plan>(add_events(*planned.plan, use.events));
  const bool puts = agreed.hints.sharing == Sharing::puts;
  if (puts && agreed.where.on_device().any())
    planned.reasons.transport_reason = "what is sent from a device, or received on one, stays a message";
  if (use.path != MemoryPath::device_aware) {
    LocalOptions options = use.local;
    const OnDevice on_device = agreed.where.on_device();
    options.send_on_device = on_device.send && use.local.lends == 0;
    options.receive_on_device = on_device.receive;
    options.leaves_node = puts;
    MpiBootstrap bootstrap(comm);
    Carried carried =
        carry(planned.plan, agreed.sharing, options, communicator.attachment<Arenas>(), use.shared_staging, bootstrap);
    planned.plan = std::move(carried.plan);
    planned.memory = std::move(carried.memory);
    if (!carried.refusal.empty()) planned.reasons.transport_reason = std::move(carried.refusal);
  }
  if (use.connection) planned.memory = use.connection;
  if (needs_packing(*planned.plan)) planned.plan = std::make_shared<const Plan>(pack(*planned.plan));
}

}  // namespace laneway
