#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>

#include "cases.hpp"
#include "offline/reference.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"
#include "virtual_node.hpp"

namespace laneway {
namespace {

std::int64_t crossing_bytes(const cases::Case& c) {
  std::int64_t bytes = 0;
  for (std::size_t r = 0; r < c.pattern.size(); ++r)
    for (const Edge& edge : c.pattern[r].out)
      if (c.region_of[r] != c.region_of[static_cast<std::size_t>(edge.peer)]) bytes += edge.ranges.bytes();
  return bytes;
}

/// What is wrong with a strategy on a case; empty if nothing is.
std::string check(std::uint64_t seed, const cases::Case& c, const cases::Candidate& candidate) {
  PlanOptions options = c.options;
  options.deduplicate = candidate.deduplicate;
  VirtualSetup setup = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options);
  if (const Report report = verify(setup.plans, c.pattern); !report.ok) return to_string(report);

  const Crossing crossing = crosses_once(setup.plans, c.pattern, c.region_of);
  if (candidate.strategy->relays() && candidate.strategy->deduplicates() && candidate.deduplicate) {
    if (!crossing.report.ok) return to_string(crossing.report);
    if (crossing.bytes != crossing.minimal_bytes) return "more than the minimal bytes cross";
  } else if (crossing.bytes != crossing_bytes(c)) {
    return "without deduplication, each edge's bytes cross once: " + std::to_string(crossing_bytes(c)) + ", not " +
           std::to_string(crossing.bytes);
  }

  cases::Random random(seed ^ 0x5bd1e995);
  if (seed % 4 == 0) {  // the same plans where some buffers are on devices
    for (Plan& plan : setup.plans) plan = cases::through_host(random, std::move(plan));
    if (const Report report = verify(setup.plans, c.pattern); !report.ok)
      return "through the host: " + to_string(report);
  }
  const std::vector<Memory> send = cases::buffers(random, c.pattern, &RankPattern::out);
  std::vector<Memory> expected = cases::buffers(random, c.pattern, &RankPattern::in);
  std::vector<Memory> received = expected;
  exchange(c.pattern, send, expected);
  run_reference(setup.plans, send, received, {seed, random.chance(50)});
  return received == expected ? "" : "the reference executor and the oracle disagree";
}

/// A part of the random cases. LANEWAY_TEST_LONG=1 runs six times as many; LANEWAY_TEST_SEED=n runs only that one.
class Property : public testing::TestWithParam<int> {};

TEST_P(Property, EveryStrategyIsProvenAndAgreesWithTheOracle) {
  constexpr int parts = 4;
  const char* one = std::getenv("LANEWAY_TEST_SEED");
  const std::uint64_t seeds = cases::effort(1000);
  std::uint64_t seed = one ? std::strtoull(one, nullptr, 10) : static_cast<std::uint64_t>(GetParam()) * seeds / parts;
  const std::uint64_t end = one ? seed + 1 : seed + seeds / parts;
  std::map<std::string, int> count;
  int failures = 0;
  for (; seed < end && failures < 5; ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      ++count[candidate.name];
      std::string problem;
      try {
        problem = check(seed, c, candidate);
      } catch (const std::exception& error) {
        problem = error.what();
      }
      if (problem.empty()) continue;
      ++failures;
      ADD_FAILURE() << "LANEWAY_TEST_SEED=" << seed << " " << candidate.name << ": " << problem;
    }
  }
  int total = 0;
  for (const auto& [name, n] : count) total += n;
  std::printf("%d cases (pattern, machine, strategy)\n", total);
}

/// As the plans run: with all carriers, and with each of the table alone.
TEST_P(Property, PlansAsTheyRunAreProven) {
  using cases::NodeUse;
  constexpr std::array uses = {NodeUse::own_staging, NodeUse::shared_staging, NodeUse::own_staging, NodeUse::devices};
  constexpr int parts = 4;
  const char* one = std::getenv("LANEWAY_TEST_SEED");
  const std::uint64_t seeds = cases::effort(360);
  std::uint64_t seed = one ? std::strtoull(one, nullptr, 10) : static_cast<std::uint64_t>(GetParam()) * seeds / parts;
  const std::uint64_t end = one ? seed + 1 : seed + seeds / parts;
  std::map<std::string_view, int> cases_of;  // by carrier
  std::map<std::string_view, int> carried_by;
  int failures = 0;
  for (; seed < end && failures < 5; ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const Carrier* const only = cases::carrier_for(seed);
      const std::string_view carrier = only != nullptr ? only->name : "all";
      const cases::Localized localized = cases::localize(random, c, candidate, uses[seed % 4], only);
      ++cases_of[carrier];
      carried_by[carrier] +=
          std::ranges::any_of(localized.plans, [](const Plan& plan) { return plan.window_bytes > 0; });
      const Report report = verify(localized.plans, c.pattern);
      if (report.ok) continue;
      ++failures;
      ADD_FAILURE() << "LANEWAY_TEST_SEED=" << seed << " " << candidate.name << ": " << to_string(report);
    }
  }
  for (const auto& [carrier, n] : cases_of)
    std::printf("%s: %d cases, %d in which not all are messages\n", std::string(carrier).c_str(), n,
                carried_by[carrier]);
  // Under sanitizers there are too few seeds for all pairs of carriers and uses.
  if (one != nullptr || cases::sanitized) return;
  for (const Carrier& carrier : carriers())
    EXPECT_EQ(carried_by[carrier.name] > 0, carrier.reaches != nullptr) << carrier.name << " was not tried";
}

INSTANTIATE_TEST_SUITE_P(Parts, Property, testing::Range(0, 4));

}  // namespace
}  // namespace laneway
