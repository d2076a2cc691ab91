#include "verify/verify.hpp"

#include "verify/program.hpp"

namespace laneway {

std::string to_string(const Report& report) {
  if (report.ok) return "ok";
  std::string text;
  for (const std::string& problem : report.problems) text += problem + "\n";
  return text;
}

Report matching(std::span<const Plan> plans) {
  Report report = well_formed(plans);
  return report.ok ? verification::prove_matching(verification::Program(plans)) : report;
}

Report race_free(std::span<const Plan> plans) {
  Report report = well_formed(plans);
  return report.ok ? verification::prove_race_free(verification::Program(plans)) : report;
}

Report deadlock_free(std::span<const Plan> plans) {
  Report report = well_formed(plans);
  return report.ok ? verification::prove_deadlock_free(verification::Program(plans)) : report;
}

Report delivers(std::span<const Plan> plans, std::span<const RankPattern> pattern) {
  Report report = well_formed(plans);
  return report.ok ? verification::prove_delivery(verification::Program(plans), pattern) : report;
}

Report verify(std::span<const Plan> plans, std::span<const RankPattern> pattern) {
  Report report = well_formed(plans);
  if (!report.ok) return report;
  const verification::Program program(plans);
  if (report = verification::prove_matching(program); !report.ok) return report;
  if (report = verification::prove_race_free(program); !report.ok) return report;
  if (report = verification::prove_deadlock_free(program); !report.ok) return report;
  return verification::prove_delivery(program, pattern);
}

}  // namespace laneway
