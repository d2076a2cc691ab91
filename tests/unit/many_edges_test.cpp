// Two ranks with more edges between them than a pair has channels, sent directly.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "algorithms/lowering/through_host.hpp"
#include "algorithms/planner/planner.hpp"
#include "plan/verify/verify.hpp"
#include "runtime/executor/executor.hpp"

namespace laneway {
namespace {

enum class Data { whole, packed, mixed };

bool is_whole(Data data, int edge) {
  return data == Data::whole || (data == Data::mixed && edge % 3 != 0);
}

/// `edges` of them in each direction, of 16 bytes, some of which lie in two places.
std::vector<RankPattern> pattern_of(int edges, Data data) {
  std::vector<RankPattern> pattern(2);
  for (Rank rank = 0; rank < 2; ++rank)
    for (int e = 0; e < edges; ++e) {
      RangeList ranges;
      ranges.append(Range{40 * e, 8});
      ranges.append(Range{40 * e + (is_whole(data, e) ? 8 : 24), 8});
      pattern[static_cast<std::size_t>(rank)].out.push_back({1 - rank, ranges});
      pattern[static_cast<std::size_t>(rank)].in.push_back({1 - rank, ranges});
    }
  return pattern;
}

std::vector<Plan> plans_of(const std::vector<RankPattern>& pattern) {
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < 2; ++rank) plans.push_back(plan_direct(rank, pattern[static_cast<std::size_t>(rank)]));
  return plans;
}

class ManyEdges : public testing::TestWithParam<Data> {};

TEST_P(ManyEdges, AreAllStartedAtOnce) {
  for (const int edges : {1, 16, 17, 40, 200}) {
    const std::vector<RankPattern> pattern = pattern_of(edges, GetParam());
    const std::vector<Plan> plans = plans_of(pattern);
    const Report report = verify(plans, pattern);
    EXPECT_TRUE(report.ok) << edges << ": " << to_string(report);
    for (const Plan& plan : plans) {
      EXPECT_TRUE(starts_all_messages(plan)) << edges;
      if (GetParam() != Data::whole) continue;
      EXPECT_TRUE(std::ranges::all_of(plan.steps, [](const Step& step) { return step.after.empty(); })) << edges;
    }
  }
}

TEST_P(ManyEdges, KeepTheirOrderOnTheWayThroughTheHost) {
  const std::vector<RankPattern> pattern = pattern_of(40, GetParam());
  std::vector<Plan> plans;
  for (const Plan& plan : plans_of(pattern)) plans.push_back(through_host(plan, {true, true}));
  const Report report = matching(plans);
  EXPECT_TRUE(report.ok) << to_string(report);
}

TEST(ManyPackedEdges, ThatMayOvertakeAreFound) {
  std::vector<Plan> plans = plans_of(pattern_of(40, Data::packed));
  // The packing of the 18th message no longer comes after that of the second.
  int packed = 0;
  for (Step& step : plans[0].steps)
    if (step.kind == StepKind::move && step.to == Buffer::staging && ++packed == 18) step.after.clear();
  EXPECT_FALSE(matching(plans).ok);
}

INSTANTIATE_TEST_SUITE_P(Data, ManyEdges, testing::Values(Data::whole, Data::packed, Data::mixed));

}  // namespace
}  // namespace laneway
