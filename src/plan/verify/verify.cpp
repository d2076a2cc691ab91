#include "plan/verify/verify.hpp"

#include <optional>
#include <vector>

#include "plan/verify/execution/accesses.hpp"
#include "plan/verify/execution/before.hpp"

namespace laneway {

std::string to_string(const Report& report) {
  if (report.ok) return "ok";
  std::string text;
  for (const std::string& problem : report.problems) text += problem + "\n";
  return text;
}

namespace {

/// What is found out about shared memory once, for two provers.
class Unrolled {
 public:
  explicit Unrolled(const verification::Program& program) {
    if (!program.shares_memory()) return;
    before_.emplace(program, program.period() + 1);
    clashes_ = verification::find_clashes(program);
    shared_.emplace(verification::SharedMemory{*before_, clashes_});
  }
  Unrolled(const Unrolled&) = delete;
  Unrolled& operator=(const Unrolled&) = delete;

  [[nodiscard]] const verification::SharedMemory* shared() const { return shared_ ? &*shared_ : nullptr; }

 private:
  std::optional<verification::Before> before_;
  std::vector<verification::Clash> clashes_;
  std::optional<verification::SharedMemory> shared_;
};

}  // namespace

Report matching(std::span<const Plan> plans) {
  Report report = well_formed(plans);
  return report.ok ? verification::prove_matching(verification::Program(plans)) : report;
}

Report race_free(std::span<const Plan> plans) {
  Report report = well_formed(plans);
  if (!report.ok) return report;
  const verification::Program program(plans);
  return verification::prove_race_free(program, Unrolled(program).shared());
}

Report deadlock_free(std::span<const Plan> plans) {
  Report report = well_formed(plans);
  return report.ok ? verification::prove_deadlock_free(verification::Program(plans)) : report;
}

Report reuses_safely(std::span<const Plan> plans) {
  Report report = well_formed(plans);
  if (!report.ok) return report;
  const verification::Program program(plans);
  const Unrolled unrolled(program);
  return unrolled.shared() != nullptr ? verification::prove_reuse(program, *unrolled.shared()) : report;
}

Report delivers(std::span<const Plan> plans, std::span<const RankPattern> pattern, const Combination* how) {
  Report report = well_formed(plans);
  return report.ok ? verification::prove_delivery(verification::Program(plans), pattern, how) : report;
}

namespace {

/// All provers but that of what arrives, which is `last`.
template <class Last>
Report prove_all(std::span<const Plan> plans, bool reads_receive, Last&& last) {
  Report report = verification::check_form(plans, reads_receive);
  if (!report.ok) return report;
  const verification::Program program(plans);
  if (report = verification::prove_matching(program); !report.ok) return report;
  const Unrolled unrolled(program);
  if (report = verification::prove_race_free(program, unrolled.shared()); !report.ok) return report;
  if (report = verification::prove_deadlock_free(program); !report.ok) return report;
  if (unrolled.shared() != nullptr)
    if (report = verification::prove_reuse(program, *unrolled.shared()); !report.ok) return report;
  return last(program);
}

}  // namespace

Report verify(std::span<const Plan> plans, std::span<const RankPattern> pattern, const Combination* how) {
  return prove_all(plans, false, [&](const verification::Program& program) {
    return verification::prove_delivery(program, pattern, how);
  });
}

Report verify_outcomes(std::span<const Plan> plans, std::span<const std::vector<DenseOutcome>> outcomes,
                       const Combination* how) {
  return prove_all(plans, true, [&](const verification::Program& program) {
    return verification::prove_outcomes(program, outcomes, how);
  });
}

}  // namespace laneway
