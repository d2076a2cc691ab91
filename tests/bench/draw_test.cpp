#include "plan/draw.hpp"

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
