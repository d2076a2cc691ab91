#include "operations/choose/chooser.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/cost/memory_paths.hpp"
#include "communicator/control/control_rounds.hpp"
#include "operations/choose/costs.hpp"
#include "operations/choose/paths.hpp"
#include "operations/choose/planning.hpp"
#include "operations/choose/tuning.hpp"

namespace laneway {

namespace {

/// Predictions err by so much. Trials do not.
constexpr double most_expected_loss = 1.25;

/// The strategy that relays and is expected to take the least time, if it is worth trying.
const StrategyRow* find_worth_trying(const Selection& selection, const std::vector<const StrategyRow*>& rows) {
  const StrategyRow* best = nullptr;
  double least = 0;
  double direct = 0;
  for (std::size_t c = 0; c < selection.predictions.size(); ++c) {
    const double seconds = selection.predictions[c].seconds;
    if (!rows[c]->traits.relays) {
      direct = seconds;
    } else if (best == nullptr || seconds < least) {
      best = rows[c];
      least = seconds;
    }
  }
  return least < most_expected_loss * direct ? best : nullptr;
}

class Chooser {
 public:
  Chooser(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Use use)
      : communicator_(communicator),
        comm_(comm),
        agreed_(agreed),
        use_(use),
        paths_(use == Use::request ? agreed.paths : without_lending(agreed.paths)),
        node_{.path = paths_.open.front(),
              .local = agreed.hints.local,
              .shared_staging = use == Use::request ? agreed.hints.shared_staging : 0,
              .events = agreed.events} {}

  [[nodiscard]] Chosen choose(std::shared_ptr<const Plan>& by_messages) && {
    const bool measures = agreed_.hints.tuning == Tuning::measure;
    const bool tries = use_ == Use::trial && !measures && on(node_.path).strategy.is_automatic();
    std::optional<Planned> made;
    if (paths_.open.size() > 1 && !tries) made = choose_path();
    if (node_.path == MemoryPath::borrowed) limit_lending();
    const Candidate candidate = on(node_.path);
    Planned planned;
    if (candidate.strategy.is_automatic() && measures) {
      planned = measure(communicator_, comm_, agreed_, candidate, node_, std::move(made));
    } else {
      planned = made ? std::move(*made) : plan(candidate);
      if (tries && planned.reasons.strategy == "direct") try_relaying(candidate, planned);
      by_messages = planned.plan;
      localize(communicator_, comm_, agreed_, node_, planned);
    }
    planned.reasons.path = node_.path;
    planned.reasons.path_reason = std::move(paths_.reason);
    planned.reasons.path_seconds = std::move(path_seconds_);
    Chosen chosen{.reasons = std::move(planned.reasons)};
    chosen.ready = {.plan = std::move(planned.plan),
                    .memory = std::move(planned.memory),
                    .device_use = {node_.path == MemoryPath::device_aware, agreed_.rule}};
    return chosen;
  }

 private:
  [[nodiscard]] Candidate on(MemoryPath path) const { return candidate_on(path, communicator_, comm_, agreed_); }
  [[nodiscard]] Planned plan(const Candidate& candidate) const {
    return make_plan(communicator_, comm_, agreed_, candidate);
  }
  const Parameters& parameters() {
    if (!parameters_) parameters_ = parameters_of(communicator_, comm_, agreed_.hints, agreed_.sharing);
    return *parameters_;
  }

  /// By what the slowest rank is predicted to take. Returns the plan on that path, if it has been made.
  std::optional<Planned> choose_path() {
    const std::string name = "the parameters '" + parameters().name + "'";
    const bool takes_addresses = std::ranges::count(paths_.open, MemoryPath::device_aware) > 0;
    const std::string refusal = takes_addresses ? "" : "; " + paths_.reason;
    const std::vector<MemoryPath> known = with_known_costs(paths_.open, parameters());
    if (known.size() < 2) {
      paths_.reason = name + " do not tell what messages between devices cost" + refusal;
      return std::nullopt;
    }
    std::vector<Planned> plans;
    std::vector<double> seconds;
    for (const MemoryPath path : known) {
      const Candidate candidate = on(path);
      // Messages are lent once the plan is made. Where no strategy depends on costs, none does on the path.
      const bool is_made =
          !plans.empty() && (path == MemoryPath::borrowed || !is_chosen_by_costs(agreed_.hints, candidate.strategy));
      plans.push_back(is_made ? plans.front() : plan(candidate));
      seconds.push_back(seconds_on(path, *plans.back().plan, agreed_, parameters()));
    }
    seconds = reduce_progressing(seconds, MPI_DOUBLE, MPI_MAX, comm_);
    for (std::size_t p = 0; p < known.size(); ++p) path_seconds_.emplace_back(known[p], seconds[p]);
    const auto best = static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin());
    node_.path = known[best];
    paths_.reason = "chosen with " + name + refusal;
    return std::move(plans[best]);
  }

  void limit_lending() {
    node_.local.lends = paths_.lends;
    node_.local.borrows = paths_.borrows;
    const std::optional<std::int64_t> limit = largest_unlent(agreed_, parameters());
    if (!limit) return;
    node_.local.lend_bytes = *limit;
    if (*limit == never_lent) node_.local.lends = 0;
    paths_.reason += "; with the parameters '" + parameters().name + "' " + described_lending(*limit);
  }

  void try_relaying(const Candidate& candidate, Planned& planned) {
    const StrategyRow* const row = find_worth_trying(planned.reasons.selection, candidate.strategy.rows());
    if (row == nullptr) return;
    Reasons reasons = std::move(planned.reasons);
    planned = plan({{row, candidate.strategy.deduplicate}, candidate.path});
    reasons.strategy = planned.reasons.strategy;
    reasons.is_trial = true;
    planned.reasons = std::move(reasons);
  }

  Communicator& communicator_;
  const PrivateComm& comm_;
  const Agreed& agreed_;
  const Use use_;
  Paths paths_;
  NodeUse node_;
  std::shared_ptr<const Parameters> parameters_;
  std::vector<std::pair<MemoryPath, double>> path_seconds_;
};

}  // namespace

Chosen choose(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Use use,
              std::shared_ptr<const Plan>& by_messages) {
  return Chooser(communicator, comm, agreed, use).choose(by_messages);
}

}  // namespace laneway
