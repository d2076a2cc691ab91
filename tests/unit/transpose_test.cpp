#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "reductions.hpp"
#include "verify/verify.hpp"

namespace laneway {
namespace {

/// What is wrong with plans of a reduction; empty if nothing is.
std::string check(std::uint64_t seed, const cases::Reduction& reduction, const std::vector<Plan>& plans) {
  const Pattern& pattern = reduction.c.pattern;
  if (const Report report = verify(plans, pattern, &reduction.how); !report.ok) return to_string(report);
  for (const Plan& plan : plans)
    if (seed % 8 == 0 && plan_from_json(to_json(plan)) != plan) return "the text of a plan is that of another one";
  cases::Random random(seed ^ 0x5bd1e995);
  const std::vector<Memory> send = cases::buffers(random, pattern, &RankPattern::out);
  std::vector<Memory> expected = cases::buffers(random, pattern, &RankPattern::in);
  std::vector<Memory> received = expected;
  cases::reduce(pattern, reduction.how, send, expected);
  run_reference(plans, send, received, {seed, random.chance(50), cases::combine});
  return received == expected ? "" : "the reference executor and the oracle disagree";
}

std::string check_backwards(std::uint64_t seed, const cases::Reduction& reduction, const cases::Candidate& candidate) {
  const cases::Backwards backwards = cases::run_backwards(reduction, candidate, seed % 2 == 0);
  if (const std::string problem = check(seed, reduction, backwards.plans); !problem.empty()) return problem;
  const std::int64_t forth = cases::bytes_between(backwards.forward_plans, reduction.c.region_of);
  const std::int64_t back = cases::bytes_between(backwards.plans, reduction.c.region_of);
  if (back == forth * reduction.how.element_bytes) return "";
  return std::to_string(forth) + " elements cross between regions, and " + std::to_string(back) + " bytes back";
}

class Transpose : public testing::TestWithParam<int> {};

/// Calls check(seed) for a part of the seeds; LANEWAY_TEST_SEED=n: only for that one.
template <class F>
void for_each_seed(std::uint64_t seeds, int part, F&& check) {
  constexpr int parts = 4;
  const char* one = std::getenv("LANEWAY_TEST_SEED");
  std::uint64_t seed = one ? std::strtoull(one, nullptr, 10) : static_cast<std::uint64_t>(part) * seeds / parts;
  const std::uint64_t end = one ? seed + 1 : seed + seeds / parts;
  for (; seed < end && !testing::Test::HasFailure(); ++seed) check(seed);
}

TEST_P(Transpose, OfEveryStrategyIsProvenAndAgreesWithTheOracle) {
  int cases = 0;
  int refused = 0;
  for_each_seed(cases::effort(200), GetParam(), [&](std::uint64_t seed) {
    const cases::Reduction reduction = cases::make_reduction(seed, false);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      ++cases;
      std::string problem;
      try {
        problem = check_backwards(seed, reduction, candidate);
      } catch (const Error& error) {
        // Lanes inside a region may take bytes along for nobody; no others may.
        const bool may_refuse = error.kind() == ErrorKind::unsupported && candidate.strategy->traits().relays_inside;
        refused += may_refuse;
        if (!may_refuse) problem = error.what();
      }
      EXPECT_EQ(problem, "") << "LANEWAY_TEST_SEED=" << seed << " " << candidate.name;
    }
  });
  std::printf("%d cases (pattern, machine, strategy), %d refused\n", cases, refused);
}

TEST_P(Transpose, InOrderIsProvenAndAgreesWithTheOracle) {
  for_each_seed(cases::effort(400), GetParam(), [&](std::uint64_t seed) {
    const cases::Reduction reduction = cases::make_reduction(seed, true);
    std::vector<Plan> plans;
    for (std::size_t r = 0; r < reduction.c.pattern.size(); ++r)
      plans.push_back(reduce_in_order(static_cast<Rank>(r), reduction.c.pattern[r], reduction.how));
    EXPECT_EQ(check(seed, reduction, plans), "") << "LANEWAY_TEST_SEED=" << seed;
  });
}

INSTANTIATE_TEST_SUITE_P(Parts, Transpose, testing::Range(0, 4));

}  // namespace
}  // namespace laneway
