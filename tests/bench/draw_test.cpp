#include "offline/draw.hpp"

#include <gtest/gtest.h>

namespace laneway {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Step message(StepKind kind, Stage stage, Rank peer, std::vector<int> after) {
  Step step;
  step.kind = kind;
  step.stage = stage;
  step.peer = peer;
  step.span = {Buffer::staging, 0, 2048};
  step.after = std::move(after);
  return step;
}

TEST(Draw, OneBoxAStepOneArrowADependency) {
  const Plan plan{
      3, 2048, {message(StepKind::receive, Stage::gather, 1, {}), message(StepKind::send, Stage::network, 9, {0})}};
  const std::string svg = to_svg(plan, "rank <3> & more");
  EXPECT_EQ(count(svg, "<rect x="), 2U);
  EXPECT_EQ(count(svg, "marker-end"), 1U);
  EXPECT_NE(svg.find("receive from 1"), std::string::npos);
  EXPECT_NE(svg.find("2 KiB"), std::string::npos);
  EXPECT_NE(svg.find("rank &lt;3&gt; &amp; more"), std::string::npos);
}

/// Rank 0 hands its data to rank 1, which sends it in two messages to rank 2 on the other node: two lines, and each
/// rank before and after three stages.
TEST(Draw, OneLineForTheMessagesOfAStageBetweenTwoRanks) {
  const std::vector<Plan> plans = {
      {0, 0, {message(StepKind::send, Stage::gather, 1, {})}},
      {1, 0, {message(StepKind::send, Stage::network, 2, {}), message(StepKind::send, Stage::network, 2, {})}},
      {2, 0, {message(StepKind::receive, Stage::network, 1, {})}}};
  const std::vector<int> node_of = {0, 0, 1};
  const std::string svg = to_svg(plans, node_of, "a < b");
  EXPECT_EQ(count(svg, "class=\"line gather\""), 1U);
  EXPECT_EQ(count(svg, "class=\"line network\""), 1U);
  EXPECT_EQ(count(svg, "<circle"), 12U);
  EXPECT_NE(svg.find("2 messages, 4 KiB"), std::string::npos);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
}

/// Not relayed: the ranks twice, and what each starts first is dark.
TEST(Draw, DirectMessagesGoStraight) {
  const std::vector<Plan> plans = {
      {0, 0, {message(StepKind::send, Stage::direct, 1, {}), message(StepKind::send, Stage::direct, 2, {})}},
      {1, 0, {}},
      {2, 0, {}}};
  const std::vector<int> node_of = {0, 0, 1};
  const std::string svg = to_svg(plans, node_of, "direct");
  EXPECT_EQ(count(svg, "<circle"), 6U);
  EXPECT_EQ(count(svg, "class=\"line first\""), 1U);
  EXPECT_EQ(count(svg, "class=\"line network\""), 1U);
}

TEST(Draw, LongColumnsAreCut) {
  Plan plan;
  for (int i = 0; i < 500; ++i) plan.steps.push_back(message(StepKind::send, Stage::direct, i, {}));
  const std::string svg = to_svg(plan, "many");
  EXPECT_LT(count(svg, "<rect x="), 60U);
  EXPECT_NE(svg.find("and 461 more"), std::string::npos);
}

TEST(Draw, AnEmptyPlanIsAPicture) {
  EXPECT_NE(to_svg(Plan{}, "empty").find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace laneway
