#include <string>
#include <utility>
#include <vector>

#include "plan/verify/execution/timeline.hpp"

namespace laneway {

namespace {

/// Which ranks have started their exchange before a step begins, or is complete.
using StartedRanks = std::vector<bool>;

bool merge_into(StartedRanks& here, const StartedRanks& there) {
  bool is_new = false;
  for (std::size_t rank = 0; rank < here.size(); ++rank) {
    is_new = is_new || (there[rank] && !here[rank]);
    here[rank] = here[rank] || there[rank];
  }
  return is_new;
}

}  // namespace

Report synchronizes(std::span<const Plan> plans) {
  Report report = verification::check_form(plans, true);
  if (!report.ok) return report;
  const verification::Program program(plans);
  const auto ranks = static_cast<std::size_t>(program.ranks());
  std::vector<StartedRanks> started(static_cast<std::size_t>(program.steps()), StartedRanks(ranks, false));
  for (int s = 0; s < program.steps(); ++s)
    started[static_cast<std::size_t>(s)][static_cast<std::size_t>(program.rank(s))] = true;
  // Of a word that another step of this exchange raises, or its start.
  const auto started_before = [&](int point) {
    if (point >= 0 && point < program.steps()) return started[static_cast<std::size_t>(point)];
    StartedRanks known(ranks, false);
    if (point >= 0) known[static_cast<std::size_t>(program.rank(point))] = true;
    return known;
  };
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (int s = 0; s < program.steps(); ++s) {
      StartedRanks& here = started[static_cast<std::size_t>(s)];
      const int first = program.first(program.rank(s));
      for (const int before : program.step(s).after)
        is_new = merge_into(here, started[static_cast<std::size_t>(first + before)]) || is_new;
      // A send tells what its rank knew when it began; that a receive is complete does not let the sender know
      // anything.
      if (program.step(s).kind == StepKind::receive && program.partner(s) >= 0)
        is_new = merge_into(here, started[static_cast<std::size_t>(program.partner(s))]) || is_new;
      for (const verification::Await& each : program.awaits(s))
        if (each.lag == 0) is_new = merge_into(here, started_before(each.point)) || is_new;
    }
  }
  for (Rank rank = 0; rank < program.ranks(); ++rank) {
    StartedRanks all(ranks, false);
    all[static_cast<std::size_t>(rank)] = true;
    for (int s = program.first(rank); s < program.first(rank + 1); ++s)
      merge_into(all, started[static_cast<std::size_t>(s)]);
    for (std::size_t other = 0; other < ranks; ++other)
      if (!all[other])
        verification::complain(report, "rank " + std::to_string(rank) + " may be complete before rank " +
                                           std::to_string(other) + " has started");
  }
  return report;
}

}  // namespace laneway
