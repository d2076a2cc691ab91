#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plan/verify/execution/accesses.hpp"
#include "plan/verify/execution/before.hpp"

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
    const bool has_events =
        std::ranges::any_of(plan.steps, [](const Step& step) { return step.kind == StepKind::event; });
    for (Buffer buffer : {Buffer::send, Buffer::receive, Buffer::staging, Buffer::shadow}) {
      if (buffer == Buffer::send && !has_events) continue;  // nobody writes it
      if (buffer == Buffer::staging && shares_staging) continue;
      accesses_.clear();
      conflicts_.clear();
      for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s)
        collect(plan.steps[static_cast<std::size_t>(s)], s, buffer);
      for_each_conflict(accesses_, [&](const Access& a, const Access& b) {
        const bool in_order_of_runs =
            a.step == b.step && a.write && b.write && combines(plan.steps[static_cast<std::size_t>(a.step)]);
        if (in_order_of_runs) return;
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
    if (step.kind == StepKind::event) {
      step.span.for_each_part([&](Buffer touched, const RangeList& ranges) {
        if (touched == buffer) ranges.for_each([&](Range place) { add(place.offset, place.end(), true); });
      });
      return;
    }
    if (step.kind == StepKind::send || step.kind == StepKind::receive) {
      step.span.for_each([&](Buffer touched, Range place, std::int64_t) {
        if (touched == buffer) add(place.offset, place.end(), step.kind == StepKind::receive);
      });
      return;
    }
    if (step.kind != StepKind::move) return;
    if (step.from == buffer) for_each_read(step, add);
    if (step.to == buffer) for_each_write(step, add);
  }

  [[nodiscard]] bool ordered_by_others(const Plan& plan, const Conflict& conflict) const {
    if (before_ == nullptr || conflict.earlier == conflict.later) return false;
    const int first = program_.first(plan.rank);
    return (*before_)(first + conflict.earlier, 1, first + conflict.later, 1);
  }

  /// What comes in is before all that touch its memory, what goes out after them. Events themselves may come in any
  /// order.
  enum class Events : std::uint8_t { none, right, wrong };
  [[nodiscard]] static Events events_in(const Plan& plan, const Conflict& conflict) {
    const Step& earlier = plan.steps[static_cast<std::size_t>(conflict.earlier)];
    const Step& later = plan.steps[static_cast<std::size_t>(conflict.later)];
    if (earlier.kind != StepKind::event && later.kind != StepKind::event) return Events::none;
    if (earlier.kind == later.kind) return Events::right;
    return (earlier.kind == StepKind::event ? earlier.goes_out : !later.goes_out) ? Events::wrong : Events::none;
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
      const Events events = events_in(plan, conflict);
      if (seen || events == Events::right) continue;
      if (events == Events::wrong) {
        complain(report_, describe(plan, conflict.later) + " and step " + std::to_string(conflict.earlier) + " touch " +
                              name(buffer) + " byte " + std::to_string(conflict.byte) +
                              ", but not in the order of the event");
        continue;
      }
      if (order.ordered(conflict.earlier, conflict.later) || ordered_by_others(plan, conflict)) continue;
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

/// Peers that read a send buffer come after the events for which it waits, and before those that give it back.
void prove_lent(const Program& program, const Before& before, Report& report) {
  std::vector<std::vector<int>> events(static_cast<std::size_t>(program.ranks()));
  for (int s = 0; s < program.steps(); ++s)
    if (program.step(s).kind == StepKind::event) events[static_cast<std::size_t>(program.rank(s))].push_back(s);
  for (int s = 0; s < program.steps(); ++s) {
    const Step& step = program.step(s);
    if (!borrows(step)) continue;
    std::vector<Range> read;
    for_each_read(step, [&](std::int64_t begin, std::int64_t end, bool) { read.push_back({begin, end - begin}); });
    const RangeSet taken(std::move(read));
    for (const int e : events[static_cast<std::size_t>(step.peer)]) {
      const Step& event = program.step(e);
      RangeList about;
      event.span.for_each_part([&](Buffer buffer, const RangeList& ranges) {
        if (buffer == Buffer::send) about.append(ranges);
      });
      if (is_full(report) || intersect(RangeSet(about), taken).empty()) continue;
      if (event.goes_out ? before(s, 1, e, 1) : before(e, 1, s, 1)) continue;
      complain(report, program.describe(s) + " is not ordered with " + program.describe(e) +
                           ": both touch the send buffer of rank " + std::to_string(step.peer));
    }
  }
}

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
  if (shared != nullptr) {
    prove_shared(program, *shared, report);
    prove_lent(program, shared->before, report);
  }
  return report;
}

}  // namespace laneway::verification
