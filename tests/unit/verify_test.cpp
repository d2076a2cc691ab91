#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cases.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {
namespace {

using After = std::vector<int>;

Step message(StepKind kind, Rank peer, Span span, After after = {}, int channel = 0) {
  Step step;
  step.kind = kind;
  step.peer = peer;
  step.channel = channel;
  step.span = span;
  step.after = std::move(after);
  return step;
}
Step send(Rank peer, Span span, After after = {}, int channel = 0) {
  return message(StepKind::send, peer, span, std::move(after), channel);
}
Step receive(Rank peer, Span span, After after = {}, int channel = 0) {
  return message(StepKind::receive, peer, span, std::move(after), channel);
}
Step copy(Buffer from, Buffer to, std::vector<CopyRun> runs, After after = {}) {
  Step step;
  step.from = from;
  step.to = to;
  step.runs = std::move(runs);
  step.after = std::move(after);
  return step;
}
CopyRun block(std::int64_t from, std::int64_t to, std::int64_t bytes) {
  return {from, to, bytes, 0, 0, 1};
}

std::vector<Plan> plans_of(std::vector<std::vector<Step>> steps, std::int64_t staging_bytes = 64) {
  std::vector<Plan> plans;
  for (auto& s : steps) plans.push_back({static_cast<Rank>(plans.size()), staging_bytes, std::move(s)});
  return plans;
}

constexpr Span sent(std::int64_t offset, std::int64_t bytes) {
  return {Buffer::send, offset, bytes};
}
constexpr Span received(std::int64_t offset, std::int64_t bytes) {
  return {Buffer::receive, offset, bytes};
}
constexpr Span staged(std::int64_t offset, std::int64_t bytes) {
  return {Buffer::staging, offset, bytes};
}

/// Passes if the report's first problem contains all of the texts.
testing::AssertionResult refuses(const Report& report, const std::vector<std::string>& texts) {
  if (report.ok || report.problems.empty()) return testing::AssertionFailure() << "no problem found";
  for (const std::string& text : texts)
    if (report.problems.front().find(text) == std::string::npos)
      return testing::AssertionFailure() << report.problems.front();
  return testing::AssertionSuccess();
}

TEST(Verify, NothingToDoIsFine) {
  EXPECT_TRUE(verify({}, Pattern{}).ok);
  EXPECT_TRUE(verify(plans_of({{}, {}}), Pattern(2)).ok);
}

TEST(Verify, APlanByHand) {
  // Rank 0 sends bytes 4 and 12 packed, rank 1 spreads them.
  const auto plans =
      plans_of({{copy(Buffer::send, Buffer::staging, {{4, 0, 1, 8, 1, 2}}), send(1, staged(0, 2), {0})},
                {receive(0, staged(8, 2)), copy(Buffer::staging, Buffer::receive, {{8, -1, 1, 1, 3, 2}}, {0})}});
  Pattern pattern(2);
  pattern[0].out = {{1, {{4, 1}, {12, 1}}}};
  pattern[1].in = {{0, {{-1, 1}, {2, 1}}}};
  const Report report = verify(plans, pattern);
  EXPECT_TRUE(report.ok) << to_string(report);
  EXPECT_EQ(to_string(report), "ok");
}

TEST(WellFormed, NamesTheStep) {
  EXPECT_TRUE(refuses(well_formed(plans_of({{copy(Buffer::send, Buffer::receive, {block(0, 0, 1)}, {0})}})),
                      {"rank 0 step 0", "not earlier"}));
  EXPECT_TRUE(
      refuses(well_formed(plans_of({{send(0, sent(0, 1))}})), {"rank 0 step 0 (send to 0, channel 0)", "itself"}));
  EXPECT_TRUE(refuses(well_formed(plans_of({{send(1, sent(0, 1))}})), {"outside the communicator"}));
  EXPECT_TRUE(refuses(well_formed(plans_of({{send(1, sent(0, 1), {}, plan_channels)}, {}})), {"channel"}));
  EXPECT_TRUE(refuses(well_formed(plans_of({{send(1, staged(60, 5))}, {}})), {"staging bytes [60, 65) of 64"}));
  EXPECT_TRUE(refuses(well_formed(plans_of({{send(1, received(0, 1))}, {}})), {"reads the receive buffer"}));
  EXPECT_TRUE(refuses(well_formed(plans_of({{receive(1, sent(0, 1))}, {}})), {"writes the send buffer"}));
  EXPECT_TRUE(
      refuses(well_formed(plans_of({{copy(Buffer::staging, Buffer::receive, {{0, 0, 4, -4, 4, 2}})}})), {"[-4, 4)"}));
  EXPECT_TRUE(
      refuses(well_formed(plans_of({{copy(Buffer::send, Buffer::receive, {{0, 0, 4, 4, 4, 0}})}})), {"without bytes"}));
  std::vector<Plan> swapped = plans_of({{}, {}});
  std::swap(swapped[0], swapped[1]);
  EXPECT_TRUE(refuses(well_formed(swapped), {"rank 0 has the plan of rank 1"}));
  EXPECT_FALSE(verify(swapped, Pattern(2)).ok);
  EXPECT_FALSE(delivers(swapped, Pattern(2)).ok);
}

TEST(Matching, PairsInPlanOrder) {
  EXPECT_TRUE(matching(plans_of({{send(1, sent(0, 4)), send(1, sent(4, 8))},
                                 {receive(0, received(0, 4)), receive(0, received(4, 8))}}))
                  .ok);
  EXPECT_TRUE(refuses(matching(plans_of({{send(1, sent(0, 4)), send(1, sent(4, 8))},
                                         {receive(0, received(0, 8)), receive(0, received(8, 4))}})),
                      {"rank 0 step 0", "sends 4 bytes", "rank 1 step 0", "expects 8"}));
  EXPECT_TRUE(refuses(matching(plans_of({{send(1, sent(0, 4))}, {}})), {"rank 0 step 0", "no matching receive"}));
  EXPECT_TRUE(refuses(matching(plans_of({{}, {receive(0, received(0, 4))}})), {"rank 1 step 0", "no matching send"}));
  EXPECT_TRUE(
      refuses(matching(plans_of({{send(1, sent(0, 4), {}, 3)}, {receive(0, received(0, 4), {}, 4)}})), {"channel 3"}));
}

TEST(Matching, MessagesOfAChannelStartInOrder) {
  const std::vector<Step> receives = {receive(0, received(0, 4)), receive(0, received(4, 4))};
  const Step pack = copy(Buffer::send, Buffer::staging, {block(0, 0, 4)});
  // The second send does not wait for the copy, so it may overtake the first; chained it may not.
  EXPECT_TRUE(refuses(matching(plans_of({{pack, send(1, staged(0, 4), {0}), send(1, sent(4, 4))}, receives})),
                      {"rank 0 step 2", "step 1"}));
  EXPECT_TRUE(matching(plans_of({{pack, send(1, staged(0, 4), {0}), send(1, sent(4, 4), {1})}, receives})).ok);
  // Through a third step.
  EXPECT_TRUE(
      matching(plans_of({{pack, send(1, staged(0, 4), {0}), copy(Buffer::send, Buffer::staging, {block(4, 4, 4)}, {1}),
                          send(1, staged(4, 4), {2})},
                         receives}))
          .ok);
  // On the receiving side.
  EXPECT_TRUE(refuses(matching(plans_of({{send(1, sent(0, 4)), send(1, sent(4, 4))},
                                         {pack, receive(0, received(0, 4), {0}), receive(0, received(4, 4))}})),
                      {"rank 1 step 2"}));
  // Different channels need no order.
  EXPECT_TRUE(matching(plans_of({{pack, send(1, staged(0, 4), {0}), send(1, sent(4, 4), {}, 1)},
                                 {receive(0, received(4, 4), {}, 1), receive(0, received(0, 4))}}))
                  .ok);
}

TEST(RaceFree, OverlapsMustBeOrdered) {
  const Step write = copy(Buffer::send, Buffer::staging, {block(0, 0, 8)});
  EXPECT_TRUE(refuses(race_free(plans_of({{write, copy(Buffer::staging, Buffer::receive, {block(7, 0, 4)})}})),
                      {"rank 0 step 1", "step 0", "staging byte 7"}));
  EXPECT_TRUE(race_free(plans_of({{write, copy(Buffer::staging, Buffer::receive, {block(7, 0, 4)}, {0})}})).ok);
  EXPECT_TRUE(race_free(plans_of({{write, copy(Buffer::staging, Buffer::receive, {block(8, 0, 4)})}})).ok);
  // Through other steps.
  EXPECT_TRUE(race_free(plans_of({{write, copy(Buffer::send, Buffer::receive, {block(0, 100, 1)}, {0}), write,
                                   copy(Buffer::staging, Buffer::receive, {block(0, 0, 4)}, {2})}}))
                  .ok == false);
  EXPECT_TRUE(race_free(plans_of({{write, copy(Buffer::send, Buffer::receive, {block(0, 100, 1)}, {0}),
                                   copy(Buffer::staging, Buffer::receive, {block(0, 0, 4)}, {1})}}))
                  .ok);
  // Two reads are fine, two writes are not.
  EXPECT_TRUE(race_free(plans_of({{copy(Buffer::send, Buffer::receive, {block(0, 0, 4)}),
                                   copy(Buffer::send, Buffer::receive, {block(0, 4, 4)})}}))
                  .ok);
  EXPECT_TRUE(refuses(race_free(plans_of({{copy(Buffer::send, Buffer::receive, {block(0, 0, 4)}),
                                           copy(Buffer::send, Buffer::receive, {block(8, 3, 4)})}})),
                      {"receive byte 3"}));
  // Interleaved strides do not touch each other.
  EXPECT_TRUE(race_free(plans_of({{copy(Buffer::send, Buffer::receive, {{0, 0, 4, 4, 8, 10}}),
                                   copy(Buffer::send, Buffer::receive, {{0, 4, 4, 4, 8, 10}})}}))
                  .ok);
  EXPECT_TRUE(refuses(race_free(plans_of({{copy(Buffer::send, Buffer::receive, {{0, 0, 4, 4, 3, 2}})}})),
                      {"rank 0 step 0", "overlaps itself"}));
}

TEST(DeadlockFree, NamesTheCycle) {
  // Each rank sends only when it has received.
  const Report report = deadlock_free(plans_of({{receive(1, received(0, 1)), send(1, sent(0, 1), {0})},
                                                {receive(0, received(0, 1)), send(0, sent(0, 1), {0})}}));
  EXPECT_TRUE(refuses(
      report, {"4 of 4 steps never complete", "rank 0 step 0 (receive from 1, channel 0) waits for rank 1 step 1",
               "waits for rank 1 step 0", "waits for rank 0 step 1", "waits for the first"}));
  // Each rank receives only when its send is complete: that may never be where sends wait for their receives.
  EXPECT_TRUE(refuses(deadlock_free(plans_of({{send(1, sent(0, 1)), receive(1, received(0, 1), {0})},
                                              {send(0, sent(0, 1)), receive(0, received(0, 1), {0})}})),
                      {"4 of 4"}));
  EXPECT_TRUE(deadlock_free(plans_of({{send(1, sent(0, 1)), receive(1, received(0, 1))},
                                      {send(0, sent(0, 1)), receive(0, received(0, 1), {0})}}))
                  .ok);
  EXPECT_TRUE(refuses(deadlock_free(plans_of({{send(1, sent(0, 1))}, {}})), {"1 of 1", "no partner"}));
}

/// Random waiting among valid plans: the prover says "deadlock" exactly where execution gets stuck.
TEST(DeadlockFree, AgreesWithExecution) {
  int stuck = 0;
  int complete = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const cases::Case c = cases::make_case(seed);
    cases::Random random(seed);
    std::vector<Plan> plans = plan_virtual_ranks(c.pattern, c.machine, *make_strategy("direct"), c.options).plans;
    const int percent = random.one_of({10, 50, 90});
    for (Plan& plan : plans)
      for (std::size_t s = 1; s < plan.steps.size(); ++s)
        if (random.chance(percent))
          plan.steps[s].after.push_back(static_cast<int>(random.between(0, static_cast<std::int64_t>(s) - 1)));
    if (!matching(plans).ok) continue;
    const bool ok = deadlock_free(plans).ok;
    const std::vector<Memory> send_buffers = cases::buffers(random, c.pattern, &RankPattern::out);
    std::vector<Memory> buffers = cases::buffers(random, c.pattern, &RankPattern::in);
    bool completes = true;
    try {
      run_reference(plans, send_buffers, buffers, {seed, true});
    } catch (const Error&) {
      completes = false;
    }
    ASSERT_EQ(ok, completes) << "seed " << seed;
    ++(ok ? complete : stuck);
  }
  EXPECT_GE(stuck, 100);
  EXPECT_GE(complete, 100);
}

TEST(Delivers, SaysWhatIsWhere) {
  Pattern pattern(2);
  pattern[0].out = {{1, {{0, 8}}}};
  pattern[1].in = {{0, {{16, 8}}}};
  auto report = [&](Span from, Span to) { return delivers(plans_of({{send(1, from)}, {receive(0, to)}}), pattern); };
  EXPECT_TRUE(report(sent(0, 8), received(16, 8)).ok);
  EXPECT_TRUE(refuses(report(sent(4, 8), received(16, 8)),
                      {"rank 1: receive byte 16 should hold byte 0 of rank 0, but holds byte 4 of rank 0"}));
  EXPECT_TRUE(refuses(report(sent(0, 8), received(17, 8)),
                      {"rank 1: receive byte 16 should hold byte 0 of rank 0, but nothing is written there"}));
  EXPECT_TRUE(refuses(report(sent(0, 7), received(16, 7)),
                      {"rank 1: receive byte 23 should hold byte 7 of rank 0, but holds nothing"}));
  EXPECT_TRUE(refuses(report(sent(0, 9), received(16, 9)),
                      {"rank 1: receive byte 24 should hold nothing, but holds byte 8 of rank 0"}));
  EXPECT_TRUE(refuses(report(sent(-1, 9), received(15, 9)),
                      {"rank 1: receive byte 15 is written (byte -1 of rank 0), but no edge ends there"}));
  EXPECT_TRUE(refuses(report(staged(0, 8), received(16, 8)), {"rank 0 step 0", "reads staging bytes [0, 8)"}));
  // Nobody needs the last byte, but it need not be there.
  EXPECT_TRUE(refuses(delivers(plans_of({{send(1, sent(0, 8)), send(1, sent(0, 9))},
                                         {receive(0, received(16, 8)), receive(0, staged(0, 9))}}),
                               pattern),
                      {"rank 0 step 1", "reads send bytes [0, 9)"}));
  EXPECT_TRUE(refuses(delivers(plans_of({{}, {}}), pattern), {"nothing is written there"}));
  EXPECT_TRUE(refuses(delivers(plans_of({{}}), pattern), {"1 plans for 2 ranks"}));
  EXPECT_TRUE(refuses(delivers(plans_of({{send(1, sent(0, 8))}, {}}), pattern), {"rank 0 step 0", "never completes"}));
}

TEST(Delivers, TheLastEdgeWins) {
  Pattern pattern(2);
  pattern[0].out = {{1, {{0, 4}}}, {1, {{100, 2}}}};
  pattern[1].in = {{0, {{0, 4}}}, {0, {{1, 2}}}};
  auto report = [&](std::vector<CopyRun> runs) {
    return delivers(plans_of({{send(1, sent(0, 4)), send(1, sent(100, 2))},
                              {receive(0, staged(0, 4)), receive(0, staged(4, 2)),
                               copy(Buffer::staging, Buffer::receive, std::move(runs), {0, 1})}}),
                    pattern);
  };
  EXPECT_TRUE(report({block(0, 0, 1), block(4, 1, 2), block(3, 3, 1)}).ok);
  EXPECT_TRUE(refuses(report({block(0, 0, 4)}), {"receive byte 1 should hold byte 100 of rank 0"}));
}

TEST(Delivers, PatternsWhoseSidesDifferAreRefused) {
  Pattern pattern(2);
  pattern[1].in = {{0, {{0, 4}}}};
  EXPECT_TRUE(refuses(delivers(plans_of({{}, {}}), pattern), {"edge 0 into rank 1"}));
}

TEST(CrossesOnce, CountsBytesBetweenRegions) {
  Pattern pattern(4);  // ranks 0, 1 | 2, 3
  pattern[0].out = {{1, {{0, 8}}}, {2, {{0, 8}}}, {3, {{4, 8}}}};
  pattern[1].in = {{0, {{0, 8}}}};
  pattern[2].in = {{0, {{0, 8}}}};
  pattern[3].in = {{0, {{0, 8}}}};
  const std::vector<Rank> region_of = {0, 0, 2, 2};
  const auto direct = plans_of({{send(1, sent(0, 8)), send(2, sent(0, 8)), send(3, sent(4, 8))},
                                {receive(0, received(0, 8))},
                                {receive(0, received(0, 8))},
                                {receive(0, received(0, 8))}});
  ASSERT_TRUE(verify(direct, pattern).ok);
  const Crossing twice = crosses_once(direct, pattern, region_of);
  EXPECT_TRUE(refuses(twice.report, {"bytes [4, 8) of rank 0 to region 2 cross more than once"}));
  EXPECT_EQ(twice.bytes, 16);
  EXPECT_EQ(twice.minimal_bytes, 12);
  const auto once = plans_of({{send(1, sent(0, 8)), send(2, sent(0, 12))},
                              {receive(0, received(0, 8))},
                              {receive(0, staged(0, 12)), copy(Buffer::staging, Buffer::receive, {block(0, 0, 8)}, {0}),
                               send(3, staged(4, 8), {0})},
                              {receive(2, received(0, 8))}});
  ASSERT_TRUE(verify(once, pattern).ok);
  const Crossing crossing = crosses_once(once, pattern, region_of);
  EXPECT_TRUE(crossing.report.ok) << to_string(crossing.report);
  EXPECT_EQ(crossing.bytes, 12);
  // Through a third region the same bytes would cross from where they do not belong.
  EXPECT_TRUE(refuses(crosses_once(once, pattern, std::vector<Rank>{0, 0, 2, 3}).report,
                      {"rank 2, which is in another region"}));
}

}  // namespace
}  // namespace laneway
