#include "runtime/executor/trace.hpp"
#include "base/json.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace laneway {
namespace {

Plan two_steps() {
  Plan plan;
  plan.rank = 3;
  Step send;
  send.kind = StepKind::send;
  send.peer = 5;
  plan.steps = {send, Step{}};
  plan.steps[1].after = {0};
  return plan;
}

/// Exchange after exchange, so that the ring is passed round several times.
Json traced(int exchanges, std::int64_t bytes) {
  Trace trace(std::make_shared<const Plan>(two_steps()), {.group = 7, .tag = 64, .own = 13, .peers = {15}}, false,
              bytes);
  for (int n = 0; n < exchanges; ++n) {
    trace.start();
    for (const int step : {0, 1}) {
      trace.begin(step);
      trace.end(step);
    }
    trace.complete();
  }
  return Json::parse(trace.line());
}

TEST(Trace, HasTheRanksOfTheWorldAndEveryMoment) {
  const Json line = traced(2, 1 << 10);
  EXPECT_EQ(line.at("rank"), 13);
  EXPECT_EQ(line.at("world").at("5"), 15);
  EXPECT_EQ(line.at("tag"), 64);
  EXPECT_EQ(line.at("dropped"), 0);
  EXPECT_EQ(line.at("plan").at("steps").size(), 2U);
  std::int64_t before = 0;
  std::vector<int> what;
  for (const Json& moment : line.at("moments")) {
    what.push_back(100 * moment.at(0).get<int>() + 10 * moment.at(1).get<int>() + moment.at(2).get<int>());
    EXPECT_GE(moment.at(3).get<std::int64_t>(), before);
    before = moment.at(3).get<std::int64_t>();
  }
  EXPECT_EQ(what, (std::vector{99, 120, 130, 121, 131, 109, 199, 220, 230, 221, 231, 209}));
}

TEST(Trace, KeepsTheLastMoments) {
  const Json line = traced(10, 16 * 16);
  EXPECT_EQ(line.at("moments").size(), 16U);
  EXPECT_EQ(line.at("dropped"), 60 - 16);
  EXPECT_EQ(line.at("moments").at(15).at(0), 10);
}

/// Where not even one exchange would fit, one is kept.
TEST(Trace, KeepsAWholeExchange) {
  EXPECT_GE(traced(10, 0).at("moments").size(), 6U);
}

/// A line is a line: what else the plan's text has between its tokens is left out.
TEST(Trace, IsOneLine) {
  Trace trace(std::make_shared<const Plan>(two_steps()), {.peers = {5}}, true, 0);
  EXPECT_EQ(trace.line().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace laneway
