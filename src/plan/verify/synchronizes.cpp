#include <string>
#include <utility>
#include <vector>

#include "plan/verify/execution/timeline.hpp"

namespace laneway {

namespace {

/// Which ranks have started their exchange before a step begins, or is complete.
using Heard = std::vector<bool>;

bool hear(Heard& here, const Heard& there) {
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
  std::vector<Heard> heard(static_cast<std::size_t>(program.steps()), Heard(ranks, false));
  for (int s = 0; s < program.steps(); ++s)
    heard[static_cast<std::size_t>(s)][static_cast<std::size_t>(program.rank(s))] = true;
  // Of a word that another step of this exchange raises, or its start.
  const auto heard_at = [&](int point) {
    if (point >= 0 && point < program.steps()) return heard[static_cast<std::size_t>(point)];
    Heard known(ranks, false);
    if (point >= 0) known[static_cast<std::size_t>(program.rank(point))] = true;
    return known;
  };
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (int s = 0; s < program.steps(); ++s) {
      Heard& here = heard[static_cast<std::size_t>(s)];
      const int first = program.first(program.rank(s));
      for (const int before : program.step(s).after)
        is_new = hear(here, heard[static_cast<std::size_t>(first + before)]) || is_new;
      // A send tells what its rank knew when it began; that a receive is complete does not let the sender know
      // anything.
      if (program.step(s).kind == StepKind::receive && program.partner(s) >= 0)
        is_new = hear(here, heard[static_cast<std::size_t>(program.partner(s))]) || is_new;
      for (const verification::Await& each : program.awaits(s))
        if (each.lag == 0) is_new = hear(here, heard_at(each.point)) || is_new;
    }
  }
  for (Rank rank = 0; rank < program.ranks(); ++rank) {
    Heard all(ranks, false);
    all[static_cast<std::size_t>(rank)] = true;
    for (int s = program.first(rank); s < program.first(rank + 1); ++s) hear(all, heard[static_cast<std::size_t>(s)]);
    for (std::size_t other = 0; other < ranks; ++other)
      if (!all[other])
        verification::complain(report, "rank " + std::to_string(rank) + " may be complete before rank " +
                                           std::to_string(other) + " has started");
  }
  return report;
}

}  // namespace laneway
