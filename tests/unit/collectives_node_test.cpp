#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/collective/expectation.hpp"
#include "algorithms/collective/rules.hpp"
#include "dense_calls.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

// Plans of operations among all ranks write places of their staging memory several times. What of them goes through the
// memory of nodes is proven as it runs, over several exchanges.

namespace laneway::dense_node {
namespace {

class DenseInNodeMemory : public testing::TestWithParam<std::size_t> {};

TEST_P(DenseInNodeMemory, IsProvenAsItRuns) {
  const DenseRule& rule = dense_rules()[GetParam()];
  int moved = 0;
  for (std::uint64_t seed = 500; seed < 520; ++seed) {
    const cases::DenseCase c = cases::make_dense_case(seed, rule.kind);
    if (!applies(rule, c.facts())) continue;
    cases::Random random(seed);
    std::vector<Region> nodes;
    for (Rank rank = 0; rank < c.layout.ranks(); ++rank) {
      const auto members = c.layout.members(c.layout.region(rank));
      nodes.push_back({c.layout.region(rank), {members.begin(), members.end()}});
    }
    const LocalOptions options{.mailbox_bytes = random.one_of<std::int64_t>({0, 16, 4096, 65536}),
                               .doubled_staging_bytes = random.one_of<std::int64_t>({0, 64, 65536}),
                               .shares_staging = random.chance(30),
                               .slots = random.one_of<std::int64_t>({2, 4, 8})};
    const std::vector<Plan> plans = localize_virtual_ranks(cases::plans_of(c, rule), nodes, options);
    for (const Plan& plan : plans) moved += std::ranges::any_of(plan.steps, signals);
    const Report proof = verify_outcomes(plans, expected_outcomes(c.calls), c.how());
    ASSERT_TRUE(proof.ok) << "seed " << seed << ", mailboxes of " << options.mailbox_bytes
                          << (options.shares_staging ? ", shared staging" : "") << "\n"
                          << to_string(proof);
    if (rule.kind == Dense::barrier) {
      const Report together = synchronizes(plans);
      ASSERT_TRUE(together.ok) << to_string(together);
    }
  }
  EXPECT_GT(moved, 0);
}

INSTANTIATE_TEST_SUITE_P(All, DenseInNodeMemory, testing::Range<std::size_t>(0, dense_rules().size()),
                         [](const testing::TestParamInfo<std::size_t>& row) {
                           const DenseRule& rule = dense_rules()[row.param];
                           return std::string(name(rule.kind)) + "_" + std::string(rule.name);
                         });

}  // namespace
}  // namespace laneway::dense_node
