#include "operations/choose/chooser.hpp"

#include <optional>
#include <utility>

namespace laneway {

namespace {

/// Predictions err by so much. Trials do not.
constexpr double most_expected_loss = 1.25;

/// The candidate that relays and is expected to take the least time, if it is worth trying; else null.
const Candidate* find_worth_trying(const std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  double direct = 0;
  for (const Candidate& candidate : candidates) {
    if (!candidate.relays)
      direct = candidate.seconds.value_or(0);
    else if (best == nullptr || candidate.seconds < best->seconds)
      best = &candidate;
  }
  return best != nullptr && best->seconds.value_or(0) < most_expected_loss * direct ? best : nullptr;
}

bool relays(const std::vector<Candidate>& candidates, std::string_view name) {
  return std::ranges::any_of(candidates, [&](const Candidate& one) { return one.name == name && one.relays; });
}

}  // namespace

Reasons pick(Candidates candidates, const TrialResult* found, Use use) {
  Reasons reasons = std::move(candidates.reasons);
  if (!candidates.only.empty()) {
    reasons.strategy = std::move(candidates.only);
  } else if (found != nullptr) {
    reasons.strategy = found->best;
    reasons.measured = found->measured;
    reasons.remembered = found->remembered;
    reasons.rule_reason = found->why;
  } else {
    reasons.strategy = std::move(candidates.cheapest);
    const bool tries = use == Use::trial && !relays(reasons.candidates, reasons.strategy);
    const Candidate* const tried = tries ? find_worth_trying(reasons.candidates) : nullptr;
    reasons.is_trial = tried != nullptr;
    if (tried != nullptr) reasons.strategy = tried->name;
  }
  return reasons;
}

Chosen choose(AlgorithmFamily& family, Use use) {
  Candidates candidates = family.candidates(use);
  std::optional<TrialResult> found;
  if (candidates.only.empty()) found = family.tuned(candidates);
  if (candidates.only.empty() && !found) family.predict(candidates);
  Chosen chosen{.reasons = pick(std::move(candidates), found ? &*found : nullptr, use)};
  family.plan(std::string(chosen.reasons.strategy), chosen);
  return chosen;
}

}  // namespace laneway
