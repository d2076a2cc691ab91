#include "setup/virtual_ranks.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace laneway {

VirtualSetup plan_virtual_ranks(const Pattern& pattern, const Machine& machine, const Strategy& strategy,
                                const PlanOptions& options, std::span<const Strategy* const> inner) {
  const auto ranks = static_cast<Rank>(pattern.size());
  std::vector<Region> regions;
  std::vector<std::vector<InnerLevel>> levels(pattern.size());
  std::vector<std::unique_ptr<Planner>> planners;
  std::vector<Round> rounds;
  regions.reserve(pattern.size());
  for (Rank r = 0; r < ranks; ++r) {
    regions.push_back(machine.region(0, r));
    for (std::size_t level = 0; level < inner.size(); ++level)
      levels[static_cast<std::size_t>(r)].push_back(
          {machine.region(static_cast<int>(level) + 1, r), inner[level], options.deduplicate});
  }
  for (Rank r = 0; r < ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    planners.push_back(std::make_unique<Planner>(r, pattern[i], regions[i], strategy, options, levels[i]));
    rounds.push_back(planners.back()->begin());
  }
  VirtualSetup result;
  result.costs.resize(pattern.size());
  while (true) {
    bool busy = false;
    for (const Round& round : rounds) {
      busy = busy || round.kind != Round::Kind::done;
      require(round.kind == rounds.front().kind, ErrorKind::internal,
              "virtual ranks are in different rounds of the setup");
    }
    if (!busy) break;
    std::vector<std::vector<Bytes>> inboxes(pattern.size());
    if (rounds.front().kind == Round::Kind::exchange) {
      std::map<std::pair<Rank, Rank>, std::deque<Bytes>> mail;
      for (Rank r = 0; r < ranks; ++r) {
        SetupCost& cost = result.costs[static_cast<std::size_t>(r)];
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
    } else {
      for (Rank r = 0; r < ranks; ++r) {
        const auto i = static_cast<std::size_t>(r);
        ++result.costs[i].region_gathers;
        for (Rank member : rounds[i].region->members) {
          inboxes[i].push_back(rounds[static_cast<std::size_t>(member)].contribution);
          result.costs[i].region_gather_bytes += static_cast<std::int64_t>(inboxes[i].back().size());
        }
      }
    }
    for (std::size_t i = 0; i < planners.size(); ++i) rounds[i] = planners[i]->resume(inboxes[i]);
  }
  for (auto& planner : planners) {
    result.plans.push_back(planner->take_plan());
    result.views.push_back(planner->view());
    result.itineraries.push_back(planner->itinerary());
  }
  return result;
}

}  // namespace laneway
