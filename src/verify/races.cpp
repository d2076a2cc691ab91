#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "verify/accesses.hpp"
#include "verify/before.hpp"

namespace laneway::verification {

namespace {

struct Conflict {
  int later = 0;
  int earlier = 0;
  std::int64_t byte = 0;
};

/// In the memory of one rank that no other touches.
class Races {
 public:
  Races(const Program& program, const Before* before, Report& report)
      : program_(program), before_(before), report_(report) {}

  void prove(const Plan& plan, bool shares_staging) {
    for (Buffer buffer : {Buffer::receive, Buffer::staging, Buffer::shadow}) {
      if (buffer == Buffer::staging && shares_staging) continue;
      accesses_.clear();
      conflicts_.clear();
      for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s)
        collect(plan.steps[static_cast<std::size_t>(s)], s, buffer);
      for_each_conflict(accesses_, [&](const Access& a, const Access& b) {
        const Conflict conflict{std::max(a.step, b.step), std::min(a.step, b.step), std::max(a.begin, b.begin)};
        const bool known = !conflicts_.empty() && conflicts_.back().later == conflict.later &&
                           conflicts_.back().earlier == conflict.earlier;
        if (!known) conflicts_.push_back(conflict);
      });
      check(plan, buffer);
    }
  }

 private:
  void collect(const Step& step, int s, Buffer buffer) {
    const auto add = [&](std::int64_t begin, std::int64_t end, bool write) {
      if (begin < end) accesses_.push_back({begin, end, s, write});
    };
    if (step.kind == StepKind::send || step.kind == StepKind::receive) {
      step.span.for_each([&](Buffer touched, Range place, std::int64_t) {
        if (touched == buffer) add(place.offset, place.end(), step.kind == StepKind::receive);
      });
      return;
    }
    if (step.kind != StepKind::take && step.from == buffer) for_each_read(step, add);
    if (step.kind != StepKind::put && step.to == buffer) for_each_write(step, add);
  }

  [[nodiscard]] bool ordered_by_others(const Plan& plan, const Conflict& conflict) const {
    if (before_ == nullptr || conflict.earlier == conflict.later) return false;
    const int first = program_.first(plan.rank);
    return (*before_)(first + conflict.earlier, 1, first + conflict.later, 1);
  }

  void check(const Plan& plan, Buffer buffer) {
    std::sort(conflicts_.begin(), conflicts_.end(), [](const Conflict& a, const Conflict& b) {
      return std::pair(a.later, a.earlier) < std::pair(b.later, b.earlier);
    });
    Order order(plan);
    const Conflict* last = nullptr;
    for (const Conflict& conflict : conflicts_) {
      if (is_full(report_)) return;
      const bool seen = last && last->later == conflict.later && last->earlier == conflict.earlier;
      last = &conflict;
      if (seen || order.ordered(conflict.earlier, conflict.later) || ordered_by_others(plan, conflict)) continue;
      const std::string where = std::string(name(buffer)) + " byte " + std::to_string(conflict.byte);
      if (conflict.earlier == conflict.later)
        complain(report_, describe(plan, conflict.later) + " overlaps itself at " + where);
      else
        complain(report_, describe(plan, conflict.later) + " is not ordered after step " +
                              std::to_string(conflict.earlier) + ": both touch " + where);
    }
  }

  const Program& program_;
  const Before* before_;
  Report& report_;
  std::vector<Access> accesses_;
  std::vector<Conflict> conflicts_;
};

/// In memory that ranks share, as far as one exchange goes.
void prove_shared(const Program& program, const SharedMemory& shared, Report& report) {
  for (const Clash& clash : shared.clashes) {
    if (is_full(report)) return;
    const std::string where = std::string(name(clash.buffer)) + " byte " + std::to_string(clash.byte) + " of rank " +
                              std::to_string(clash.rank);
    if (clash.over_word) {
      complain(report, program.describe(clash.first) + " and " + program.describe(clash.second) +
                           " touch a word and data at " + where);
    } else if (clash.later == 0 && clash.first == clash.second) {
      complain(report, program.describe(clash.first) + " overlaps itself at " + where);
    } else if (clash.later == 0 && !shared.before(clash.first, 1, clash.second, 1) &&
               !shared.before(clash.second, 1, clash.first, 1)) {
      complain(report, program.describe(clash.second) + " is not ordered after " + program.describe(clash.first) +
                           ": both touch " + where);
    }
  }
}

}  // namespace

Report prove_race_free(const Program& program, const SharedMemory* shared) {
  Report report;
  const std::vector<bool> staging = shared_staging(program);
  Races races(program, shared != nullptr ? &shared->before : nullptr, report);
  for (Rank r = 0; r < program.ranks(); ++r) races.prove(program.plan(r), staging[static_cast<std::size_t>(r)]);
  if (shared != nullptr) prove_shared(program, *shared, report);
  return report;
}

}  // namespace laneway::verification
