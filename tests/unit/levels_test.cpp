#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cases.hpp"
#include "offline/reference.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {
namespace {

/// The case's nodes, each divided at random into sockets and these into GPUs.
Machine divided(cases::Random& random, const cases::Case& c) {
  const std::int64_t sockets = random.between(1, 3);
  const std::int64_t gpus = random.between(1, 3);
  std::vector<std::string> paths;
  for (Rank node : c.region_of)
    paths.push_back("n" + std::to_string(node) + "/s" + std::to_string(random.between(1, sockets)) + "/g" +
                    std::to_string(random.between(1, gpus)));
  return Machine::from_paths(paths);
}

/// Any strategy at any level: plans are proven, and the reference executor agrees with the oracle.
TEST(Levels, AnyStrategiesAtThreeLevels) {
  const std::uint64_t seeds = cases::effort(2000);
  int failures = 0;
  for (std::uint64_t seed = 0; seed < seeds && failures < 5; ++seed) {
    cases::Case c = cases::make_case(seed);
    cases::Random random(seed + 99);
    c.machine = divided(random, c);
    const std::vector<cases::Candidate> candidates = cases::candidates(seed);
    std::vector<const Strategy*> inner;
    const cases::Candidate& outer = random.pick(candidates);
    std::string name = outer.name;
    for (std::int64_t level = random.between(1, 2); level > 0; --level) {
      const cases::Candidate& candidate = random.pick(candidates);
      inner.push_back(candidate.strategy.get());
      name += "," + candidate.name;
    }
    PlanOptions options = c.options;
    options.deduplicate = outer.deduplicate;
    const VirtualSetup setup = plan_virtual_ranks(c.pattern, c.machine, *outer.strategy, options, inner);
    const Report report = verify(setup.plans, c.pattern);
    const std::vector<Memory> send = cases::buffers(random, c.pattern, &RankPattern::out);
    std::vector<Memory> expected = cases::buffers(random, c.pattern, &RankPattern::in);
    std::vector<Memory> received = expected;
    exchange(c.pattern, send, expected);
    if (report.ok) run_reference(setup.plans, send, received, {seed, random.chance(50)});
    if (report.ok && received == expected) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << " " << name << ": " << to_string(report);
  }
}

/// 16 ranks, two nodes of two sockets of four, all to all with one value for all: at node level one copy of each value
/// crosses; inside, two_step-like relaying must not send a value to a socket more than once either.
TEST(Levels, EachValueEntersASocketOnce) {
  const Rank ranks = 16;
  Pattern pattern(ranks);
  for (Rank r = 0; r < ranks; ++r)
    for (Rank peer = 0; peer < ranks; ++peer) {
      pattern[static_cast<std::size_t>(r)].out.push_back({peer, {{0, 8}}});
      pattern[static_cast<std::size_t>(r)].in.push_back({peer, {{peer * 8, 8}}});
    }
  const Machine machine = Machine::parse("node:2 socket:2 rank:4", ranks);
  const auto three_step = make_strategy("three_step");
  const std::vector<const Strategy*> inner = {three_step.get()};
  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *three_step, {}, inner);
  ASSERT_TRUE(verify(setup.plans, pattern).ok);
  std::vector<Rank> node_of;
  std::vector<Rank> socket_of;
  for (Rank r = 0; r < ranks; ++r) {
    node_of.push_back(machine.region_id(0, r));
    socket_of.push_back(machine.region_id(1, r));
  }
  const Crossing nodes = crosses_once(setup.plans, pattern, node_of);
  EXPECT_TRUE(nodes.report.ok) << to_string(nodes.report);
  // Each of the 4 sockets gets the 12 values of the others, and hands the lanes' senders what they lack.
  std::int64_t between_sockets = 0;
  for (const Plan& plan : setup.plans)
    for (const Step& step : plan.steps)
      if (step.kind == StepKind::send &&
          socket_of[static_cast<std::size_t>(step.peer)] != socket_of[static_cast<std::size_t>(plan.rank)])
        between_sockets += step.span.bytes;
  const std::int64_t arrivals = 4 * 12 * 8;
  const std::int64_t gathers = 2 * 4 * 8;  // half of each node's values reach its lane's sender from the other socket
  EXPECT_EQ(between_sockets, arrivals + gathers);
}

}  // namespace
}  // namespace laneway
