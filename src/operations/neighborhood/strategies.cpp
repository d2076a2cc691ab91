#include <algorithm>
#include <utility>

#include "algorithms/cost/memory_paths.hpp"
#include "base/bytes/sort_unique.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "operations/choose/costs.hpp"
#include "operations/choose/way_back.hpp"
#include "operations/neighborhood/family.hpp"
#include "operations/neighborhood/tuning.hpp"
#include "runtime/carriers/carry.hpp"
#include "runtime/device/topology.hpp"

namespace laneway {

namespace {

/// What connects the devices of a communicator's ranks, from the first request that asks for it until they free it.
struct KeptConnection final : Attachment {
  std::shared_ptr<CarrierMemory> connection;

  void close() noexcept override {
    if (connection) connection->close();
  }
};

/// All that this rank sends and receives must be on one device. A rank without edges has one, too.
DeviceEnds ends_on_device(const Agreed& agreed, const PrivateComm& comm) {
  DeviceEnds ends{.ranks = comm.size()};
  const auto find_peers = [&](const std::vector<Edge>& edges, std::vector<Rank>& peers) {
    for (const Edge& edge : edges)
      if (edge.peer != comm.rank() && !edge.ranges.empty()) peers.push_back(edge.peer);
    sort_unique(peers);
  };
  find_peers(agreed.pattern.out, ends.sends_to);
  find_peers(agreed.pattern.in, ends.receives_from);
  const OnDevice on_device = agreed.where.on_device();
  const Extents used = extents_of(agreed.pattern);
  ends.device = device_of(agreed.where);
  if (!on_device.any() && used.send.bytes == 0 && used.receive.bytes == 0)
    ends.device = current_device().value_or(Device());
  if (!agreed.events.empty())
    ends.problem = "its partitions or events would wait for each other in one group";
  else if ((used.send.bytes > 0 && !on_device.send) || (used.receive.bytes > 0 && !on_device.receive))
    ends.problem = "its buffers are not in memory of a device";
  else if (!ends.device)
    ends.problem = "it has no device";
  else if (on_device.send && on_device.receive && Device(agreed.where.send) != Device(agreed.where.receive))
    ends.problem = "its buffers are on two devices";
  return ends;
}

constexpr const char* relays_nothing =
    "nothing is relayed, since a rank has neither a progress engine that calls this library nor MPI_THREAD_MULTIPLE "
    "for a thread; lnw_progress=wait lets relays progress in calls of this library";

}  // namespace

StrategyOnPath NeighborhoodFamily::on(MemoryPath path) const {
  return strategies_on(path, communicator_, comm_, agreed_);
}

Candidates NeighborhoodFamily::candidates(Use use) {
  const bool is_request = use == Use::request;
  if (!is_request) agreed_.paths = without_lending(std::move(agreed_.paths));
  node_ = {.path = agreed_.paths.open.front(),
           .local = agreed_.hints.local,
           .shared_staging = is_request ? agreed_.hints.shared_staging : 0,
           .events = agreed_.events};
  if (agreed_.hints.sharing == Sharing::nccl) connect(use);
  if (agreed_.reduction && agreed_.reduction->back)
    return {.reasons = agreed_.reduction->back->reasons, .only = agreed_.reduction->back->reasons.strategy};
  const bool tries_strategies =
      use == Use::trial && agreed_.hints.tuning != Tuning::measure && on(node_.path).strategy.is_automatic();
  if (agreed_.paths.open.size() > 1 && !tries_strategies) choose_path();
  if (node_.path == MemoryPath::borrowed) limit_lending();
  const StrategyChoice choice = on(node_.path).strategy;
  Candidates candidates;
  candidates.reasons.one_region = agreed_.regions.front().members.size() == static_cast<std::size_t>(comm_.size());
  if (agreed_.hints.strategy.is_automatic()) candidates.reasons.candidates = candidates_of(choice);
  if (!choice.is_automatic()) candidates.only = choice.rows().front()->name;
  return candidates;
}

/// Messages go from device to device by a carrier that connects them, where the hint asks for it and all ranks can.
void NeighborhoodFamily::connect(Use use) {
  StrategyChoice& strategy = agreed_.hints.strategy;
  if (use != Use::request)
    refusal_ = "buffers may be others in each call, and NCCL needs those of all ranks on devices";
  else if (agreed_.reduction)
    refusal_ = "NCCL does not carry what is combined";
  else if (!agreed_.hints.inner.empty() || (!strategy.is_automatic() && strategy.row->traits.relays))
    refusal_ =
        "the strategy " + std::string(strategy.name()) + " passes messages on, and NCCL carries one group of them";
  if (!refusal_.empty()) return;
  MpiBootstrap bootstrap(comm_);
  std::shared_ptr<CarrierMemory>& kept = comm_.attachment<KeptConnection>().connection;
  node_.connection = connect_devices(bootstrap, ends_on_device(agreed_, comm_), kept, refusal_);
  if (!node_.connection) return;
  if (strategy.is_automatic()) {
    strategy.row = &find_strategy("direct");
    agreed_.hints.strategy_name = strategy.name();
  }
  node_.path = MemoryPath::device_aware;
  agreed_.paths.open = {node_.path};
  agreed_.paths.reason = "NCCL carries messages between devices";
}

/// Of several, that of the least predicted cost, by what the slowest rank is predicted to take.
void NeighborhoodFamily::choose_path() {
  const std::shared_ptr<const Parameters> parameters =
      parameters_of(communicator_, comm_, agreed_.hints, agreed_.sharing);
  const std::string name = "the parameters '" + parameters->name + "'";
  const bool takes_addresses = std::ranges::count(agreed_.paths.open, MemoryPath::device_aware) > 0;
  const std::string refusal = takes_addresses ? "" : "; " + agreed_.paths.reason;
  const std::vector<MemoryPath> known = with_known_costs(agreed_.paths.open, *parameters);
  if (known.size() < 2) {
    agreed_.paths.reason = name + " do not tell what messages between devices cost" + refusal;
    return;
  }
  std::vector<Planned> plans;
  std::vector<double> seconds;
  for (const MemoryPath path : known) {
    const StrategyOnPath strategies = on(path);
    // Messages are lent once the plan is made. Where no strategy depends on costs, none does on the path.
    const bool is_made =
        !plans.empty() && (path == MemoryPath::borrowed || !is_chosen_by_costs(agreed_.hints, strategies.strategy));
    plans.push_back(is_made ? plans.front() : make_plan(communicator_, comm_, agreed_, strategies));
    seconds.push_back(seconds_on(path, *plans.back().plan, agreed_, *parameters));
  }
  seconds = reduce_progressing(seconds, MPI_DOUBLE, MPI_MAX, comm_);
  for (std::size_t p = 0; p < known.size(); ++p) path_seconds_.emplace_back(known[p], seconds[p]);
  const auto best = static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin());
  node_.path = known[best];
  agreed_.paths.reason = "chosen with " + name + refusal;
  by_costs_ = std::move(plans[best]);
}

/// Messages inside the node are lent only where the parameters do not predict that this is slower.
void NeighborhoodFamily::limit_lending() {
  const std::shared_ptr<const Parameters> parameters =
      parameters_of(communicator_, comm_, agreed_.hints, agreed_.sharing);
  node_.local.lends = agreed_.paths.lends;
  node_.local.borrows = agreed_.paths.borrows;
  const std::optional<std::int64_t> limit = largest_unlent(agreed_, *parameters);
  if (!limit) return;
  node_.local.lend_bytes = *limit;
  if (*limit == never_lent) node_.local.lends = 0;
  agreed_.paths.reason += "; with the parameters '" + parameters->name + "' " + described_lending(*limit);
}

void NeighborhoodFamily::predict(Candidates& candidates) {
  if (!by_costs_) by_costs_ = make_plan(communicator_, comm_, agreed_, on(node_.path));
  candidates.cheapest = by_costs_->strategy;
  candidates.reasons.parameters = by_costs_->reasons.parameters;
  candidates.reasons.candidates = by_costs_->reasons.candidates;
}

const Planned& NeighborhoodFamily::planned(const std::string& strategy) {
  if (const auto found = planned_.find(strategy); found != planned_.end()) return found->second;
  Planned& planned = planned_[strategy];
  if (by_costs_ && by_costs_->strategy == strategy) return planned = *std::exchange(by_costs_, std::nullopt);
  StrategyOnPath on_path = on(node_.path);
  for (const StrategyRow* row : on_path.strategy.rows())
    if (row->name == strategy) on_path.strategy = {row, on_path.strategy.deduplicate};
  return planned = make_plan(communicator_, comm_, agreed_, on_path);
}

std::optional<TrialResult> NeighborhoodFamily::tuned(Candidates& candidates) {
  if (agreed_.hints.tuning != Tuning::measure) return std::nullopt;
  // Memory that the result shares with other requests may be in use, and nobody fires events of trials.
  NodeUse alone = node_;
  alone.shared_staging = 0;
  alone.events = {};
  return measure(comm_, agreed_, candidates.reasons.candidates, [&] {
    predict(candidates);
    PlannedCandidates all;
    for (const Candidate& one : most_promising(candidates.reasons.candidates, candidates.cheapest, trial_of_plans)) {
      all.emplace_back(one, planned(one.name));
      localize(communicator_, comm_, agreed_, alone, all.back().second);
    }
    return all;
  });
}

void NeighborhoodFamily::plan(const std::string& candidate, Chosen& chosen) {
  Planned ready = planned(candidate);
  const std::shared_ptr<const Plan> by_messages = ready.plan;
  localize(communicator_, comm_, agreed_, node_, ready);
  Reasons& reasons = chosen.reasons;
  reasons.strategy = std::move(ready.reasons.strategy);
  reasons.transport_reason = std::move(refusal_.empty() ? ready.reasons.transport_reason : refusal_);
  reasons.path = node_.path;
  reasons.path_reason = std::move(agreed_.paths.reason);
  reasons.path_seconds = std::move(path_seconds_);
  if (call_.kind == Kind::alltoallv_indexed) keep_exchange(communicator_, agreed_, by_messages, reasons);
  if (agreed_.relays_nothing) reasons.progress_reason = relays_nothing;
  chosen.ready = {.plan = std::move(ready.plan),
                  .memory = std::move(ready.memory),
                  .device_use = {.gives_addresses = node_.path == MemoryPath::device_aware,
                                 .is_connected = node_.connection != nullptr,
                                 .rule = agreed_.rule}};
  if (agreed_.reduction) chosen.ready.combiners = {agreed_.reduction->what.combiner};
  chosen.ready.device_use.combining = kernels_of(chosen.ready.combiners);
  chosen.node = agreed_.regions.front();
  if (reasons.path == MemoryPath::borrowed && agreed_.sharing.members.size() > 1) chosen.lending = agreed_.sharing;
  chosen.partitions = std::move(events_.partitions);
  // Where each edge is a message that needs no help, exchanges need not come one after another.
  if (reasons.strategy == "direct" && !chosen.ready.memory) chosen.bindings = 0;
}

}  // namespace laneway
