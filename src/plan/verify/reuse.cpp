#include <string>
#include <vector>

#include "plan/verify/execution/accesses.hpp"
#include "plan/verify/execution/before.hpp"

namespace laneway::verification {

namespace {

class Reuse {
 public:
  Reuse(const Program& program, const SharedMemory& shared, Report& report)
      : program_(program), shared_(shared), report_(report), signals_(static_cast<std::size_t>(program.ranks())) {
    for (int s = 0; s < program.steps(); ++s)
      if (signals(program.step(s))) signals_[static_cast<std::size_t>(program.rank(s))] = true;
  }

  /// What one exchange leaves behind is no longer needed when a later one writes there. Exchanges are ordered alike at
  /// any time, so it is enough to look at the first and those after it.
  void prove_places() {
    for (const Clash& clash : shared_.clashes) {
      if (clash.over_word) continue;
      if (is_full(report_)) return;
      const int forth = clash.later == 0 ? clash.period : clash.later;
      const int back = clash.later == 0 ? clash.period : clash.period - clash.later;
      check(clash, clash.first, clash.second, forth);
      check(clash, clash.second, clash.first, back);
    }
  }

  /// A rank's send buffer is its user's when the rank has completed its exchange.
  void prove_lent() {
    for (int s = 0; s < program_.steps() && !is_full(report_); ++s) {
      const Step& step = program_.step(s);
      if (!borrows(step) || shared_.before(s, 1, program_.completed(step.peer), 1)) continue;
      complain(report_, program_.describe(s) + " may still read the send buffer of rank " + std::to_string(step.peer) +
                            " when that has completed its exchange");
    }
  }

  /// Who has used the memory in the exchange before may be unknown here, if that was one of another plan.
  void prove_opened() {
    if (!program_.shares_staging()) return;
    for (int s = 0; s < program_.steps() && !is_full(report_); ++s) {
      const Step& step = program_.step(s);
      if (opens_staging(step) && step.await->lag != 0)
        complain(report_, program_.describe(s) + " opens memory that plans share although " +
                              std::to_string(step.await->lag) + " exchanges before are not complete");
      bool writes = step.kind == StepKind::move && step.to.buffer == Buffer::staging;
      if (step.kind == StepKind::receive)
        step.span.for_each_part([&](Buffer buffer, const RangeList&) { writes = writes || buffer == Buffer::staging; });
      if (!writes) continue;
      const Rank owner = step.kind == StepKind::move && step.to.of_peer ? step.peer : program_.rank(s);
      const int opening = program_.opening(owner);
      if (opening < 0 && !signals_[static_cast<std::size_t>(owner)]) continue;  // alone on its node
      if (opening >= 0 && shared_.before(opening, 1, s, 1)) continue;
      complain(report_, program_.describe(s) + " writes staging memory that plans share before that is open");
    }
  }

 private:
  void check(const Clash& clash, int earlier, int later, int exchanges) {
    if (shared_.before(earlier, 1, later, 1 + exchanges)) return;
    complain(report_, program_.describe(later) + " does not wait for " + program_.describe(earlier) + " of " +
                          (exchanges == 1 ? "the exchange" : std::to_string(exchanges) + " exchanges") +
                          " before: both touch " + name(clash.buffer) + " byte " + std::to_string(clash.byte) +
                          " of rank " + std::to_string(clash.rank));
  }

  const Program& program_;
  const SharedMemory& shared_;
  Report& report_;
  std::vector<bool> signals_;  // by rank, whether it shares memory
};

}  // namespace

Report prove_reuse(const Program& program, const SharedMemory& shared) {
  Report report;
  Reuse reuse(program, shared, report);
  reuse.prove_places();
  reuse.prove_lent();
  reuse.prove_opened();
  return report;
}

}  // namespace laneway::verification
