#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cases.hpp"
#include "offline/random_graphs.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/plan.hpp"

namespace laneway {
namespace {

TEST(Plan, TextGivesThePlanBack) {
  for (std::uint64_t seed = 0; seed < cases::effort(100); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed))
      for (const Plan& plan : plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, c.options).plans) {
        const Plan again = plan_from_json(to_json(plan));
        ASSERT_EQ(again, plan);
        ASSERT_EQ(fingerprint(again), fingerprint(plan));
      }
  }
}

/// Two ranks of one node send 8 bytes each to a rank of another: rank 0 hands its bytes to rank 1, which sends both.
TEST(Plan, Golden) {
  Pattern pattern(3);
  pattern[0] = allgather_pattern({{}, {2}}, 8);
  pattern[1] = allgather_pattern({{}, {2}}, 8);
  pattern[2] = allgather_pattern({{0, 1}, {}}, 8);
  const auto plans = plan_virtual_ranks(pattern, Machine::parse("ranks:2,1", 3), *make_strategy("three_step")).plans;
  EXPECT_EQ(to_json(plans[0]), R"({"rank": 0, "staging_bytes": 0, "steps": [
  {"kind":"send","stage":"gather","peer":1,"channel":1,"span":["send",0,8]}
]}
)");
  EXPECT_EQ(to_json(plans[1]), R"({"rank": 1, "staging_bytes": 64, "steps": [
  {"kind":"receive","stage":"gather","peer":0,"channel":1,"span":["staging",0,8]},
  {"kind":"move","stage":"gather","from":"send","to":"staging","runs":[[0,8,8,0,0,1]]},
  {"kind":"send","stage":"network","peer":2,"channel":2,"span":["staging",0,16],"after":[0,1]}
]}
)");
  EXPECT_EQ(to_json(plans[2]), R"({"rank": 2, "staging_bytes": 0, "steps": [
  {"kind":"receive","stage":"network","peer":1,"channel":2,"span":["receive",0,16]}
]}
)");
}

/// Contiguous data of direct edges is sent from and received into the user's buffers: no copy, no staging.
TEST(Plan, DirectEdgesOfContiguousDataNeedNoCopy) {
  Pattern pattern;
  for (Rank r = 0; r < 12; ++r)
    pattern.push_back(alltoall_pattern(neighborhood("stencil:points=9,dims=3x4", r, 12), 24));
  for (const Plan& plan :
       plan_virtual_ranks(pattern, Machine::parse("node:3 rank:4", 12), *make_strategy("direct")).plans) {
    EXPECT_EQ(plan.staging_bytes, 0);
    const RankPattern& p = pattern[static_cast<std::size_t>(plan.rank)];
    EXPECT_EQ(plan.steps.size(), p.in.size() + p.out.size());
    for (const Step& step : plan.steps) {
      EXPECT_NE(step.kind, StepKind::move);
      EXPECT_TRUE(step.after.empty());
    }
  }
}

/// How many messages before the one that each comes after; 0 if it comes after none.
std::set<int> distances(const Plan& plan) {
  std::set<int> result;
  for (int i = 0; i < static_cast<int>(plan.steps.size()); ++i)
    for (int before : plan.steps[static_cast<std::size_t>(i)].after) result.insert(i - before);
  return result;
}

/// One lane fills the link with 16 messages under way, of eight lanes each has four. Receives wait for nothing.
TEST(Plan, FewMessagesOfALaneAreUnderWay) {
  constexpr std::int64_t bytes = 1 << 20;
  for (const Rank ranks : {1, 8}) {
    Pattern pattern(static_cast<std::size_t>(2 * ranks));
    for (Rank r = 0; r < ranks; ++r) {
      pattern[static_cast<std::size_t>(r)] = allgather_pattern({{}, {ranks + r}}, bytes);
      pattern[static_cast<std::size_t>(ranks + r)] = allgather_pattern({{r}, {}}, bytes);
    }
    const Machine machine = Machine::parse("node:2 rank:" + std::to_string(ranks), 2 * ranks);
    const auto plans = plan_virtual_ranks(pattern, machine, *make_strategy("two_step")).plans;
    EXPECT_EQ(distances(plans.front()), std::set<int>{ranks == 1 ? 16 : 4});
    EXPECT_EQ(distances(plans.back()), std::set<int>{});
  }
}

TEST(Plan, EveryFieldEntersTheFingerprint) {
  Plan plan{3, 128, {}};
  Step copy;
  copy.runs = {{1, 2, 3, 4, 5, 6}};
  Step send;
  send.kind = StepKind::send;
  send.peer = 1;
  send.channel = 2;
  send.span = {Buffer::staging, 8, 16};
  send.after = {0};
  Step event;
  event.kind = StepKind::event;
  plan.steps = {copy, send, event};
  const std::vector<std::function<void(Plan&)>> changes = {
      [](Plan& p) { ++p.rank; },
      [](Plan& p) { ++p.staging_bytes; },
      [](Plan& p) { p.steps[1].kind = StepKind::receive; },
      [](Plan& p) { p.steps[1].stage = Stage::network; },
      [](Plan& p) { ++p.steps[1].peer; },
      [](Plan& p) { ++p.steps[1].channel; },
      [](Plan& p) { p.steps[1].span.buffer = Buffer::send; },
      [](Plan& p) { ++p.steps[1].span.offset; },
      [](Plan& p) { ++p.steps[1].span.bytes; },
      [](Plan& p) { p.steps[1].after.clear(); },
      [](Plan& p) { p.steps[0].from = Buffer::staging; },
      [](Plan& p) { p.steps[0].to = Buffer::staging; },
      [](Plan& p) { p.steps[0].from.of_peer = true; },
      [](Plan& p) { ++p.steps[0].to.ring.distance; },
      [](Plan& p) { p.steps[0].to.ring.places = 2; },
      [](Plan& p) { p.steps[0].to.ring.crosses = true; },
      [](Plan& p) { p.steps[0].await = Word{}; },
      [](Plan& p) { p.steps[0].raise = Word{}; },
      [](Plan& p) {
        p.steps[0].await = Word{Sign::started, false, 0, 0, {}};
      },
      [](Plan& p) {
        p.steps[0].await = Word{Sign::flag, false, 0, 8, {}};
      },
      [](Plan& p) {
        p.steps[0].await = Word{Sign::flag, false, 1, 0, {}};
      },
      [](Plan& p) { ++p.steps[2].event; },
      [](Plan& p) { p.steps[2].goes_out = true; },
      [](Plan& p) { ++p.steps[0].runs[0].from; },
      [](Plan& p) { ++p.steps[0].runs[0].to; },
      [](Plan& p) { ++p.steps[0].runs[0].bytes; },
      [](Plan& p) { ++p.steps[0].runs[0].from_stride; },
      [](Plan& p) { ++p.steps[0].runs[0].to_stride; },
      [](Plan& p) { ++p.steps[0].runs[0].count; },
      [](Plan& p) { p.steps.pop_back(); },
  };
  std::set<std::uint64_t> seen = {fingerprint(plan)};
  for (const auto& change : changes) {
    Plan other = plan;
    change(other);
    EXPECT_NE(other, plan);
    EXPECT_TRUE(seen.insert(fingerprint(other)).second);
    EXPECT_EQ(plan_from_json(to_json(other)), other);
  }
}

TEST(Plan, MistakesInTextAreNamed) {
  auto error_of = [](const std::string& text) -> std::string {
    try {
      (void)plan_from_json(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::argument);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(error_of("{").find("line 1"), std::string::npos);
  EXPECT_NE(error_of(R"({"rank": 0, "staging_bytes": 0})").find("steps"), std::string::npos);
  EXPECT_EQ(error_of(R"({"rank": 0, "staging_bytes": 0, "steps": [{"kind": "jump", "stage": "direct"}]})"),
            "plan: unknown name 'jump'");
}

}  // namespace
}  // namespace laneway
