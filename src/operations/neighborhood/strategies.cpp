#include "operations/neighborhood/strategies.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/cost/memory_paths.hpp"
#include "communicator/control/control_rounds.hpp"
#include "operations/choose/costs.hpp"
#include "operations/choose/paths.hpp"
#include "operations/neighborhood/tuning.hpp"

namespace laneway {

StrategyCandidates::StrategyCandidates(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                                       Use use)
    : communicator_(communicator),
      comm_(comm),
      agreed_(agreed),
      paths_(use == Use::request ? agreed.paths : without_lending(agreed.paths)),
      node_{.path = paths_.open.front(),
            .local = agreed.hints.local,
            .shared_staging = use == Use::request ? agreed.hints.shared_staging : 0,
            .events = agreed.events},
      tries_(use == Use::trial && agreed.hints.tuning != Tuning::measure && on(node_.path).strategy.is_automatic()) {}

Candidates StrategyCandidates::all() {
  if (agreed_.reduction && agreed_.reduction->back)
    return {.reasons = agreed_.reduction->back->reasons, .only = agreed_.reduction->back->reasons.strategy};
  if (paths_.open.size() > 1 && !tries_) choose_path();
  if (node_.path == MemoryPath::borrowed) limit_lending();
  const StrategyChoice choice = on(node_.path).strategy;
  Candidates candidates;
  candidates.reasons.one_region = agreed_.regions.front().members.size() == static_cast<std::size_t>(comm_.size());
  if (agreed_.hints.strategy.is_automatic()) candidates.reasons.candidates = candidates_of(choice);
  if (!choice.is_automatic()) candidates.only = choice.rows().front()->name;
  return candidates;
}

const Parameters& StrategyCandidates::parameters() {
  if (!parameters_) parameters_ = parameters_of(communicator_, comm_, agreed_.hints, agreed_.sharing);
  return *parameters_;
}

/// By what the slowest rank is predicted to take.
void StrategyCandidates::choose_path() {
  const std::string name = "the parameters '" + parameters().name + "'";
  const bool takes_addresses = std::ranges::count(paths_.open, MemoryPath::device_aware) > 0;
  const std::string refusal = takes_addresses ? "" : "; " + paths_.reason;
  const std::vector<MemoryPath> known = with_known_costs(paths_.open, parameters());
  if (known.size() < 2) {
    paths_.reason = name + " do not tell what messages between devices cost" + refusal;
    return;
  }
  std::vector<Planned> plans;
  std::vector<double> seconds;
  for (const MemoryPath path : known) {
    const StrategyOnPath strategies = on(path);
    // Messages are lent once the plan is made. Where no strategy depends on costs, none does on the path.
    const bool is_made =
        !plans.empty() && (path == MemoryPath::borrowed || !is_chosen_by_costs(agreed_.hints, strategies.strategy));
    plans.push_back(is_made ? plans.front() : make(strategies));
    seconds.push_back(seconds_on(path, *plans.back().plan, agreed_, parameters()));
  }
  seconds = reduce_progressing(seconds, MPI_DOUBLE, MPI_MAX, comm_);
  for (std::size_t p = 0; p < known.size(); ++p) path_seconds_.emplace_back(known[p], seconds[p]);
  const auto best = static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin());
  node_.path = known[best];
  paths_.reason = "chosen with " + name + refusal;
  by_costs_ = std::move(plans[best]);
}

void StrategyCandidates::limit_lending() {
  node_.local.lends = paths_.lends;
  node_.local.borrows = paths_.borrows;
  const std::optional<std::int64_t> limit = largest_unlent(agreed_, parameters());
  if (!limit) return;
  node_.local.lend_bytes = *limit;
  if (*limit == never_lent) node_.local.lends = 0;
  paths_.reason += "; with the parameters '" + parameters().name + "' " + described_lending(*limit);
}

void StrategyCandidates::predict(Candidates& candidates) {
  if (!by_costs_) by_costs_ = make(on(node_.path));
  candidates.cheapest = by_costs_->strategy;
  candidates.reasons.parameters = by_costs_->reasons.parameters;
  candidates.reasons.candidates = by_costs_->reasons.candidates;
}

const Planned& StrategyCandidates::planned(const std::string& strategy) {
  if (const auto found = planned_.find(strategy); found != planned_.end()) return found->second;
  Planned& planned = planned_[strategy];
  if (by_costs_ && by_costs_->strategy == strategy) return planned = *std::exchange(by_costs_, std::nullopt);
  StrategyOnPath on_path = on(node_.path);
  for (const StrategyRow* row : on_path.strategy.rows())
    if (row->name == strategy) on_path.strategy = {row, on_path.strategy.deduplicate};
  return planned = make(on_path);
}

std::optional<TrialResult> StrategyCandidates::measure(Candidates& candidates) {
  StrategyTrial trial(comm_, agreed_);
  if (!trial.has_memory()) return std::nullopt;
  if (std::optional<TrialResult> known = trial.recall(candidates.reasons.candidates)) return known;
  predict(candidates);
  // Memory that the result shares with other requests may be in use, and nobody fires events of trials.
  NodeUse alone = node_;
  alone.shared_staging = 0;
  alone.events = {};
  for (const Candidate& one : most_promising(candidates.reasons.candidates, candidates.cheapest, trial_of_plans)) {
    Planned& tried = tried_[one.name] = planned(one.name);
    localize(communicator_, comm_, agreed_, alone, tried);
    trial.add(one, tried);
  }
  return trial.run();
}

std::shared_ptr<const Plan> StrategyCandidates::plan(const std::string& strategy, Chosen& chosen) {
  const auto tried = tried_.find(strategy);
  const bool is_as_tried = tried != tried_.end() && node_.shared_staging == 0 && node_.events.empty();
  std::shared_ptr<const Plan> by_messages = planned(strategy).plan;
  Planned planned = is_as_tried ? tried->second : planned_.at(strategy);
  if (!is_as_tried) localize(communicator_, comm_, agreed_, node_, planned);
  Reasons& reasons = chosen.reasons;
  reasons.strategy = std::move(planned.reasons.strategy);
  reasons.no_puts = std::move(planned.reasons.no_puts);
  reasons.path = node_.path;
  reasons.path_reason = std::move(paths_.reason);
  reasons.path_seconds = std::move(path_seconds_);
  chosen.ready = {.plan = std::move(planned.plan),
                  .memory = std::move(planned.memory),
                  .device_use = {node_.path == MemoryPath::device_aware, agreed_.rule}};
  return by_messages;
}

}  // namespace laneway
