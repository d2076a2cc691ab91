#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/lowering/through_host.hpp"
#include "offline/in_process.hpp"
#include "plan/verify/verify.hpp"
#include "reductions.hpp"
#include "runtime/executor/executor.hpp"
#include "virtual_node.hpp"

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

/// Buffers on devices: combined by the host, or by the device.
TEST(Combining, OnDevicesIsProvenAndAgreesWithTheOracle) {
  for (std::uint64_t seed = 1; seed <= cases::effort(20); ++seed) {
    const bool in_order = seed % 2 == 0;
    const cases::Reduction reduction = cases::make_reduction(seed, in_order);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      if (!in_order && candidate.strategy->traits().relays_inside) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + candidate.name);
      const std::vector<Plan> plans = in_order ? cases::run_in_order(reduction, candidate, true)
                                               : cases::run_backwards(reduction, candidate, true).plans;
      for (const OnDevice& where : {OnDevice{true, false}, OnDevice{false, true}, OnDevice{true, true},
                                    OnDevice{false, true, true}, OnDevice{true, true, true}}) {
        if (where.combines && in_order) continue;  // no kernel does that
        std::vector<Plan> placed;
        for (const Plan& plan : plans) {
          placed.push_back(through_host(plan, where));
          EXPECT_TRUE(goes_through_host(placed.back(), where));
          EXPECT_EQ(through_host(placed.back(), where), placed.back());
        }
        ASSERT_EQ(check(seed, reduction, placed), "") << where.send << where.receive << where.combines;
      }
    }
  }
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
  for_each_seed(cases::effort(60), GetParam(), [&](std::uint64_t seed) {
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

/// The plan of the exchange of bytes itself, whose way back the reduction is.
TEST_P(Transpose, OfExchangesOfBytesIsProvenAndAgreesWithTheOracle) {
  int made = 0;
  int refused = 0;
  for_each_seed(cases::effort(200), GetParam(), [&](std::uint64_t seed) {
    const cases::Reduction reduction = cases::make_reduction(seed, false);
    Pattern exchange;
    for (const RankPattern& p : reduction.c.pattern) exchange.push_back({p.in, p.out});
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      PlanOptions options = reduction.c.options;
      options.deduplicate = candidate.deduplicate;
      options.packs = false;
      const std::vector<Plan> forward =
          plan_virtual_ranks(exchange, reduction.c.machine, *candidate.strategy, options).plans;
      std::vector<Plan> plans;
      for (std::size_t r = 0; r < forward.size(); ++r)
        if (std::optional<Plan> plan = transpose_whole(forward[r], exchange[r], reduction.how))
          plans.push_back(*std::move(plan));
      ++(plans.size() == forward.size() ? made : refused);
      if (plans.size() < forward.size()) continue;  // then all ranks plan
      EXPECT_EQ(check(seed, reduction, plans), "") << "LANEWAY_TEST_SEED=" << seed << " " << candidate.name;
      EXPECT_EQ(cases::bytes_between(forward, reduction.c.region_of),
                cases::bytes_between(plans, reduction.c.region_of))
          << "LANEWAY_TEST_SEED=" << seed << " " << candidate.name;
    }
  });
  std::printf("%d exchanges run backwards, %d refused\n", made, refused);
  EXPECT_GE(made, cases::sanitized ? 0 : 1);  // few cases may all have bytes that no edge of the way back names
}

TEST_P(Transpose, InOrderIsProvenAndAgreesWithTheOracle) {
  for_each_seed(cases::effort(200), GetParam(), [&](std::uint64_t seed) {
    const cases::Reduction reduction = cases::make_reduction(seed, true);
    std::vector<Plan> plans;
    for (std::size_t r = 0; r < reduction.c.pattern.size(); ++r)
      plans.push_back(reduce_in_order(static_cast<Rank>(r), reduction.c.pattern[r], reduction.how));
    EXPECT_EQ(check(seed, reduction, plans), "") << "LANEWAY_TEST_SEED=" << seed;
  });
}

/// Whatever the strategy, the result is that of each edge by itself.
TEST_P(Transpose, RelayedInOrderIsProvenAndAgreesWithTheOracle) {
  for_each_seed(cases::effort(60), GetParam(), [&](std::uint64_t seed) {
    const cases::Reduction reduction = cases::make_reduction(seed, seed % 4 != 0);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      const std::vector<Plan> plans = cases::run_in_order(reduction, candidate, true);
      EXPECT_EQ(check(seed, reduction, plans), "") << "LANEWAY_TEST_SEED=" << seed << " " << candidate.name;
    }
  });
}

/// Contributions of a node's ranks go through its memory: no message stays inside a node, and the plans that run are
/// proven and agree with the oracle exchange after exchange.
TEST_P(Transpose, ThroughTheMemoryOfNodesIsProvenAndAgreesWithTheOracle) {
  std::int64_t pushed = 0;
  for_each_seed(cases::effort(24), GetParam(), [&](std::uint64_t seed) {
    for (const bool in_order : {false, true}) {
      const cases::Reduction reduction = cases::make_reduction(seed, in_order);
      const Combiners combiners = {std::make_shared<const cases::TestCombiner>(reduction.how)};
      for (const cases::Candidate& candidate : cases::candidates(seed)) {
        if (!in_order && candidate.strategy->traits().relays_inside) continue;
        SCOPED_TRACE("LANEWAY_TEST_SEED=" + std::to_string(seed) + " " + candidate.name);
        cases::Random random(seed);
        std::vector<Plan> plans = in_order ? cases::run_in_order(reduction, candidate, false)
                                           : cases::run_backwards(reduction, candidate, false).plans;
        const auto use = seed % 3 == 0   ? cases::NodeUse::shared_staging
                         : seed % 3 == 1 ? cases::NodeUse::devices
                                         : cases::NodeUse::own_staging;
        const cases::Localized localized = cases::localize(random, reduction.c, std::move(plans), use);
        const Report report = verify(localized.plans, reduction.c.pattern, &reduction.how);
        ASSERT_TRUE(report.ok) << to_string(report);
        if (use == cases::NodeUse::devices) continue;
        for (const Plan& plan : localized.plans)
          for (const Step& step : plan.steps) {
            pushed += cases::is_push(step);
            if (step.kind != StepKind::send) continue;
            const auto& node = localized.nodes[static_cast<std::size_t>(plan.rank)].members;
            ASSERT_FALSE(std::ranges::binary_search(node, step.peer)) << "a message inside a node";
          }
        if (use == cases::NodeUse::shared_staging) continue;
        const cases::Exchanges data(random, reduction.c.pattern, 4, [&](const auto& sent, auto& received) {
          cases::reduce(reduction.c.pattern, reduction.how, sent, received);
        });
        ASSERT_EQ(cases::run_exchanges(random, localized, data, combiners), "");
      }
    }
  });
  // Under sanitizers some parts have no case.
  if (std::getenv("LANEWAY_TEST_SEED") == nullptr && !cases::sanitized) {
    EXPECT_GT(pushed, 0);
  }
}

/// Runs plans on virtual ranks that take turns, twice.
void run_executors(const std::vector<Plan>& plans, const Combination& how, const std::vector<Memory>& send,
                   const std::vector<Memory>& before, const std::vector<Memory>& expected) {
  std::vector<Memory> received = before;
  InProcessNetwork network;
  std::vector<std::unique_ptr<Executor>> executors;
  for (std::size_t r = 0; r < plans.size(); ++r) {
    const auto plan = std::make_shared<const Plan>(plans[r]);
    const Buffers buffers{cases::base_of(send[r]), cases::base_of(received[r])};
    const std::unique_ptr<Transport> transport = network.transport(static_cast<Rank>(r));
    executors.push_back(std::make_unique<Executor>(plan, buffers, glance_at(buffers, *plan), *transport, nullptr,
                                                   Combiners{std::make_shared<const cases::TestCombiner>(how)}));
  }
  for (int iteration = 0; iteration < 2; ++iteration) {
    for (std::size_t r = 0; r < received.size(); ++r) received[r].bytes = before[r].bytes;
    for (const auto& executor : executors) executor->start();
    bool complete = false;
    for (int turn = 0; !complete && turn < 10000; ++turn) {
      complete = true;
      for (const auto& executor : executors) complete = executor->progress() && complete;
    }
    ASSERT_TRUE(complete);
    ASSERT_TRUE(received == expected);
  }
}

TEST(Combining, TheExecutorAgreesWithTheOracle) {
  for (std::uint64_t seed = 1; seed <= cases::effort(60); ++seed)
    for (const bool in_order : {false, true}) {
      const cases::Reduction reduction = cases::make_reduction(seed, in_order);
      const Pattern& pattern = reduction.c.pattern;
      cases::Random random(seed);
      const std::vector<Memory> send = cases::buffers(random, pattern, &RankPattern::out);
      const std::vector<Memory> before = cases::buffers(random, pattern, &RankPattern::in);
      std::vector<Memory> expected = before;
      cases::reduce(pattern, reduction.how, send, expected);
      std::vector<Plan> plans;
      for (std::size_t r = 0; r < pattern.size(); ++r)
        plans.push_back(reduce_in_order(static_cast<Rank>(r), pattern[r], reduction.how));
      run_executors(plans, reduction.how, send, before, expected);
      if (in_order) continue;
      for (const cases::Candidate& candidate : cases::candidates(seed)) {
        if (candidate.strategy->traits().relays_inside) continue;
        SCOPED_TRACE("seed " + std::to_string(seed) + " " + candidate.name);
        run_executors(cases::run_backwards(reduction, candidate, true).plans, reduction.how, send, before, expected);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Parts, Transpose, testing::Range(0, 4));

}  // namespace
}  // namespace laneway
