#include "setup/virtual_ranks.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace laneway {

namespace {

struct LevelOf {
  int level;
  Candidates candidates;
  bool deduplicate;
};

std::vector<double> largest_numbers(const std::vector<Round>& rounds) {
  std::vector<double> all = rounds.front().numbers;
  for (const Round& round : rounds)
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], round.numbers[i]);
  return all;
}

/// Moves one round of all ranks.
std::vector<std::vector<Bytes>> carry(std::vector<Round>& rounds, std::vector<SetupCost>& costs) {
  const auto ranks = static_cast<Rank>(rounds.size());
  std::vector<std::vector<Bytes>> inboxes(rounds.size());
  if (rounds.front().kind == Round::Kind::exchange) {
    std::map<std::pair<Rank, Rank>, std::deque<Bytes>> mail;
    for (Rank r = 0; r < ranks; ++r) {
      SetupCost& cost = costs[static_cast<std::size_t>(r)];
      for (Letter& letter : rounds[static_cast<std::size_t>(r)].letters) {
        ++cost.letters_sent;
        cost.letter_bytes_sent += static_cast<std::int64_t>(letter.data.size());
        mail[{r, letter.peer}].push_back(std::move(letter.data));
      }
    }
    for (Rank r = 0; r < ranks; ++r) {
      for (Rank from : rounds[static_cast<std::size_t>(r)].from) {
        auto it = mail.find({from, r});
        require(it != mail.end() && !it->second.empty(), ErrorKind::topology,
                "setup: rank " + std::to_string(r) + " expects a letter from rank " + std::to_string(from) +
                    ", which sends none: the two disagree about the edges between them");
        inboxes[static_cast<std::size_t>(r)].push_back(std::move(it->second.front()));
        it->second.pop_front();
      }
    }
    for (const auto& [pair, letters] : mail)
      require(letters.empty(), ErrorKind::topology,
              "setup: rank " + std::to_string(pair.second) + " does not expect the letter of rank " +
                  std::to_string(pair.first));
  } else if (rounds.front().kind == Round::Kind::largest) {
    const Bytes largest = to_bytes(largest_numbers(rounds));
    for (std::vector<Bytes>& inbox : inboxes) inbox = {largest};
  } else {
    for (Rank r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      ++costs[i].region_gathers;
      for (Rank member : rounds[i].region->members) {
        inboxes[i].push_back(rounds[static_cast<std::size_t>(member)].contribution);
        costs[i].region_gather_bytes += static_cast<std::int64_t>(inboxes[i].back().size());
      }
    }
  }
  return inboxes;
}

/// Runs the state machines of all ranks to their end.
template <class Machines>
void run_all(Machines& machines, std::vector<Round> rounds, std::vector<SetupCost>& costs) {
  while (true) {
    bool busy = false;
    for (const Round& round : rounds) {
      busy = busy || round.kind != Round::Kind::done;
      require(round.kind == rounds.front().kind, ErrorKind::internal,
              "virtual ranks are in different rounds of the setup");
    }
    if (!busy) return;
    const std::vector<std::vector<Bytes>> inboxes = carry(rounds, costs);
    for (std::size_t i = 0; i < machines.size(); ++i) rounds[i] = machines[i]->resume(inboxes[i]);
  }
}

VirtualSetup plan_all(const Pattern& pattern, const Machine& machine, std::span<const LevelOf> levels,
                      const LoweringOptions& lowering, const Parameters* parameters = nullptr) {
  const auto ranks = static_cast<Rank>(pattern.size());
  std::vector<PlanOptions> options(pattern.size(), {levels.front().deduplicate, lowering});
  std::vector<std::unique_ptr<CostModel>> costs;
  std::vector<Region> regions;
  std::vector<std::vector<InnerLevel>> inner(pattern.size());
  std::vector<std::unique_ptr<Planner>> planners;
  std::vector<Round> rounds;
  regions.reserve(pattern.size());
  for (Rank r = 0; r < ranks; ++r) {
    regions.push_back(machine.region(levels.front().level, r));
    for (const LevelOf& level : levels.subspan(1))
      inner[static_cast<std::size_t>(r)].push_back(
          {machine.region(level.level, r), level.candidates, level.deduplicate});
  }
  for (Rank r = 0; r < ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (parameters) {
      CostOptions cost;
      cost.network_message_bytes = lowering.network_message_bytes;
      cost.sharing = machine.region(0, r).members;
      options[i].costs = costs.emplace_back(std::make_unique<CostModel>(*parameters, std::move(cost))).get();
    }
    planners.push_back(
        std::make_unique<Planner>(r, pattern[i], regions[i], levels.front().candidates, options[i], inner[i]));
    rounds.push_back(planners.back()->begin());
  }
  VirtualSetup result;
  result.costs.resize(pattern.size());
  run_all(planners, std::move(rounds), result.costs);
  result.selection = planners.front()->selection();
  for (auto& planner : planners) {
    result.plans.push_back(planner->take_plan());
    result.views.push_back(planner->view());
    result.itineraries.push_back(planner->itinerary());
  }
  return result;
}

}  // namespace

std::vector<Plan> localize_virtual_ranks(std::vector<Plan> plans, std::span<const Region> nodes,
                                         const LocalOptions& options) {
  std::vector<std::unique_ptr<Localizer>> localizers;
  std::vector<Round> rounds;
  std::vector<SetupCost> costs(plans.size());
  for (std::size_t r = 0; r < plans.size(); ++r) {
    localizers.push_back(std::make_unique<Localizer>(std::move(plans[r]), nodes[r], options));
    rounds.push_back(localizers.back()->begin());
  }
  run_all(localizers, std::move(rounds), costs);
  for (std::size_t r = 0; r < plans.size(); ++r) plans[r] = localizers[r]->take_plan();
  return plans;
}

VirtualSetup plan_virtual_ranks(const Pattern& pattern, const Machine& machine, const Strategy& strategy,
                                const PlanOptions& options, std::span<const Strategy* const> inner) {
  std::vector<LevelOf> levels = {{0, {&strategy}, options.deduplicate}};
  for (const Strategy* inside : inner)
    levels.push_back({static_cast<int>(levels.size()), {inside}, options.deduplicate});
  return plan_all(pattern, machine, levels, options.lowering);
}

VirtualSetup plan_virtual_ranks(const Pattern& pattern, const Machine& machine, const Levels& levels,
                                const StrategySettings& settings, const LoweringOptions& lowering,
                                const Parameters* parameters) {
  StrategySettings known = settings;
  known.fabric = Fabric::of(machine);
  const std::vector<int> positions = machine.find_levels(levels.names());
  std::vector<OwnedCandidates> candidates;
  std::vector<LevelOf> all;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const StrategyChoice& choice = levels.choices[i].choice;
    candidates.emplace_back(choice, known);
    all.push_back({positions[i], candidates.back().get(), choice.deduplicate});
  }
  return plan_all(pattern, machine, all, lowering, parameters);
}

}  // namespace laneway
