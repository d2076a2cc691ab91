#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/collective/expectation.hpp"
#include "algorithms/collective/rules.hpp"
#include "dense_calls.hpp"
#include "plan/verify/verify.hpp"

// Every rule of every operation among all ranks, on uneven nodes, with blocks of all sorts: the plans are proven, and
// run by the reference executor have the results of plain loops.

namespace laneway::dense_property {
namespace {

class DenseRules : public testing::TestWithParam<std::size_t> {};

TEST_P(DenseRules, AreProvenAndRight) {
  const DenseRule& rule = dense_rules()[GetParam()];
  int runs = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const cases::DenseCase c = cases::make_dense_case(seed, rule.kind);
    if (!applies(rule, c.facts())) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(c.layout.ranks()) + " ranks in " +
                 std::to_string(c.layout.regions()) + " regions, root " + std::to_string(c.calls[0].root) +
                 (c.calls[0].in_place ? ", in place" : "") + (c.equal ? ", equal" : ""));
    ++runs;
    const std::vector<Plan> plans = cases::plans_of(c, rule);
    const Report proof = verify_outcomes(plans, expected_outcomes(c.calls), c.how());
    ASSERT_TRUE(proof.ok) << to_string(proof);
    if (rule.kind == Dense::barrier) {
      const Report together = synchronizes(plans);
      ASSERT_TRUE(together.ok) << to_string(together);
    }
    std::vector<Memory> receive = c.receive;
    ReferenceOptions options;
    options.seed = seed;
    options.rendezvous = seed % 2 == 0;
    options.reads_receive = true;
    options.combine = [](const Combination& how, std::span<std::byte> to, std::span<const std::byte> from) {
      cases::combine(how, to, from);
    };
    run_reference(plans, c.send, receive, options);
    ASSERT_EQ(receive, cases::DenseOracle(c).run());
  }
  EXPECT_GT(runs, 8);
}

INSTANTIATE_TEST_SUITE_P(All, DenseRules, testing::Range<std::size_t>(0, dense_rules().size()),
                         [](const testing::TestParamInfo<std::size_t>& row) {
                           const DenseRule& rule = dense_rules()[row.param];
                           return std::string(name(rule.kind)) + "_" + std::string(rule.name);
                         });

}  // namespace
}  // namespace laneway::dense_property
