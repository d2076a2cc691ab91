// Plans that are packed last: what they move is counted, and is what it was when messages were packed as they were
// made.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/lowering/pack.hpp"
#include "cases.hpp"
#include "offline/reference.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/plan.hpp"
#include "plan/verify/verify.hpp"
#include "virtual_node.hpp"

namespace laneway {
namespace {

struct Work {
  std::int64_t messages = 0;
  std::int64_t message_bytes = 0;
  std::int64_t copies = 0;
  std::int64_t copied_bytes = 0;
  std::int64_t puts = 0;
  std::int64_t takes = 0;
  std::int64_t moved_bytes = 0;  ///< by puts and takes
  std::int64_t gates = 0;
  std::int64_t dependencies = 0;
  std::int64_t staging_bytes = 0;

  friend bool operator==(const Work&, const Work&) = default;
};

void PrintTo(const Work& w, std::ostream* out) {
  *out << "{" << w.messages << ", " << w.message_bytes << ", " << w.copies << ", " << w.copied_bytes << ", " << w.puts
       << ", " << w.takes << ", " << w.moved_bytes << ", " << w.gates << ", " << w.dependencies << ", "
       << w.staging_bytes << "}";
}

void add(Work& work, const std::vector<Plan>& plans) {
  for (const Plan& plan : plans) {
    work.staging_bytes += plan.staging_bytes;
    for (const Step& step : plan.steps) {
      std::int64_t bytes = 0;
      for (const CopyRun& run : step.runs) bytes += run.bytes * run.count;
      work.dependencies += static_cast<std::int64_t>(step.after.size());
      work.messages += step.kind == StepKind::send;
      work.message_bytes += step.kind == StepKind::send ? step.span.bytes : 0;
      work.copies += is_copy(step);
      work.copied_bytes += is_copy(step) ? bytes : 0;
      work.puts += step.raise.has_value();
      work.takes += step.await && !is_gate(step);
      work.moved_bytes += is_copy(step) ? 0 : bytes;
      work.gates += is_gate(step);
    }
  }
}

/// The case's machine, with two sockets in each node.
Machine with_sockets(const cases::Case& c) {
  std::vector<std::string> paths;
  for (std::size_t rank = 0; rank < c.region_of.size(); ++rank)
    paths.push_back("n" + std::to_string(c.region_of[rank]) + "/s" + std::to_string(rank % 2));
  return Machine::from_paths(paths);
}

TEST(Pack, PlansMoveWhatTheyDidWhenMessagesWerePackedAsTheyWereMade) {
  if (cases::sanitized) GTEST_SKIP() << "SKIP: the sums are of all cases, of which sanitizers see a part elsewhere";
  Work messages;
  Work local;
  Work levels;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      PlanOptions options = c.options;
      options.deduplicate = candidate.deduplicate;
      add(messages, plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans);
      const Strategy* const inner = candidate.strategy.get();
      add(levels, plan_virtual_ranks(c.pattern, with_sockets(c), *candidate.strategy, options, {&inner, 1}).plans);
      cases::Random random(seed);
      add(local, cases::localize(random, c, candidate).plans);
    }
  }
  EXPECT_EQ(messages, (Work{442843, 29602213, 161524, 16758183, 0, 0, 0, 0, 693881, 32398976}));
  // In three of ten cases messages between nodes are puts. More is copied and staged where it is guessed which copies
  // pack messages: what receivers drop is pushed, too. Short messages that nothing answers are copied twice, and
  // longer ones that are relayed.
  EXPECT_EQ(local, (Work{215374, 16578912, 88059, 13348801, 292801, 292801, 16496318, 17192, 902932, 28654272}));
  // 226381 copies, and 1040948 dependencies, when plans of levels inside were packed before they were embedded.
  EXPECT_EQ(levels, (Work{505045, 34570750, 226517, 20269159, 0, 0, 0, 0, 922920, 43418560}));
}

/// Before they are packed, plans are proven, run and written down like others; packing them gives those that the
/// planner packs.
TEST(Pack, PlansAreProvenBeforeTheyArePacked) {
  std::int64_t scattered = 0;
  for (std::uint64_t seed = 1; seed <= cases::effort(200); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + candidate.name);
      PlanOptions options = c.options;
      options.deduplicate = candidate.deduplicate;
      options.packs = false;
      const std::vector<Plan> plans = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans;
      const Report report = verify(plans, c.pattern);
      ASSERT_TRUE(report.ok) << to_string(report);
      cases::Random random(seed);
      const std::vector<Memory> send = cases::buffers(random, c.pattern, &RankPattern::out);
      std::vector<Memory> expected = cases::buffers(random, c.pattern, &RankPattern::in);
      std::vector<Memory> received = expected;
      exchange(c.pattern, send, expected);
      run_reference(plans, send, received, {seed, random.chance(50)});
      ASSERT_EQ(received, expected);
      options.packs = true;
      const std::vector<Plan> packed = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans;
      for (std::size_t r = 0; r < plans.size(); ++r) {
        scattered += needs_packing(plans[r]);
        ASSERT_EQ(packed_staging_bytes(plans[r]), packed[r].staging_bytes);
        ASSERT_EQ(pack(plans[r]), packed[r]);
        const Plan again = plan_from_json(to_json(plans[r]));
        ASSERT_EQ(again, plans[r]);
        ASSERT_EQ(fingerprint(again), fingerprint(plans[r]));
      }
    }
  }
  EXPECT_GT(scattered, 1000);
}

/// Problems of plans that name places which are not those of their messages.
TEST(Pack, PlacesThatDoNotFitTheMessageAreProblems) {
  const auto problem = [](Segment part, RangeList stream, std::int64_t bytes, StepKind kind) {
    Plan plan;
    Step step;
    step.kind = kind;
    step.peer = 1;
    step.span = End({std::move(part)}, stream, bytes);
    plan.steps = {step};
    Plan other;
    other.rank = 1;
    const Report report = well_formed(std::vector<Plan>{plan, other});
    return report.ok ? "" : report.problems.front();
  };
  const RangeList apart = {{0, 4}, {8, 4}};
  EXPECT_EQ(problem({Buffer::send, apart}, {{0, 8}}, 8, StepKind::send), "");
  EXPECT_EQ(problem({Buffer::receive, apart}, {{0, 4}, {8, 4}}, 12, StepKind::receive), "");
  EXPECT_NE(problem({Buffer::send, apart}, {{0, 8}}, 12, StepKind::send), "");
  EXPECT_NE(problem({Buffer::send, apart}, {{4, 4}, {0, 4}}, 8, StepKind::send), "");
  EXPECT_NE(problem({Buffer::receive, apart}, {{8, 8}}, 12, StepKind::receive), "");
  EXPECT_NE(problem({Buffer::receive, apart}, {{0, 4}}, 12, StepKind::receive), "");
  EXPECT_NE(problem({Buffer::receive, apart}, {{0, 8}}, 8, StepKind::send), "");
  EXPECT_NE(problem({Buffer::staging, apart}, {{0, 8}}, 8, StepKind::send), "");
}

}  // namespace
}  // namespace laneway
