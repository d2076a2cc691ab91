#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/collective/expectation.hpp"
#include "algorithms/collective/rules.hpp"
#include "algorithms/lowering/through_host.hpp"
#include "dense_calls.hpp"
#include "plan/verify/verify.hpp"

// Every rule of every operation among all ranks, on uneven nodes, with blocks of all sorts: the plans are proven, and
// run by the reference executor have the results of plain loops. So do those of ranks with buffers on devices.

namespace laneway::dense_property {
namespace {

ReferenceOptions options_of(std::uint64_t seed) {
  ReferenceOptions options;
  options.seed = seed;
  options.rendezvous = seed % 2 == 0;
  options.reads_receive = true;
  options.combine = [](const Combination& how, std::span<std::byte> to, std::span<const std::byte> from) {
    cases::combine(how, to, from);
  };
  return options;
}

/// With every choice of buffers, each rank another one.
void expect_right_on_devices(const cases::DenseCase& c, const std::vector<Plan>& plans, std::uint64_t seed) {
  for (std::size_t first = 0; first < 4; ++first) {
    std::vector<Plan> placed;
    for (std::size_t r = 0; r < plans.size(); ++r) {
      const OnDevice where{((r + first) & 1U) != 0, ((r + first) & 2U) != 0};
      placed.push_back(through_host(plans[r], where));
      EXPECT_TRUE(goes_through_host(placed.back(), where));
      EXPECT_EQ(through_host(placed.back(), where), placed.back());
    }
    const Report proof = verify_outcomes(placed, expected_outcomes(c.calls), c.how());
    ASSERT_TRUE(proof.ok) << to_string(proof);
    std::vector<Memory> receive = c.receive;
    run_reference(placed, c.send, receive, options_of(seed + first));
    ASSERT_EQ(receive, cases::DenseOracle(c).run());
  }
}

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
    run_reference(plans, c.send, receive, options_of(seed));
    ASSERT_EQ(receive, cases::DenseOracle(c).run());
    if (seed % 4 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(expect_right_on_devices(c, plans, seed));
  }
  EXPECT_GT(runs, 8);
}

/// The bytes of the devices that must have been copied before a step begins.
std::int64_t fetched_before(const Plan& plan, int step) {
  std::vector<bool> before(plan.steps.size());
  before[static_cast<std::size_t>(step)] = true;
  std::int64_t bytes = 0;
  for (int s = step; s >= 0; --s) {
    if (!before[static_cast<std::size_t>(s)]) continue;
    const Step& one = plan.steps[static_cast<std::size_t>(s)];
    for (const int earlier : one.after) before[static_cast<std::size_t>(earlier)] = true;
    if (one.kind != StepKind::move || one.to != Buffer::shadow || one.from == Buffer::shadow) continue;
    if (one.from == Buffer::staging) continue;
    for (const CopyRun& run : one.runs) bytes += run.bytes * run.count;
  }
  return bytes;
}

/// A vector on a device crosses in pieces: the first message waits for its own bytes alone, and what is complete goes
/// back before the end. So in place, which begins with what is in the receive buffer.
TEST(DenseOnDevices, MessagesWaitForTheirOwnPieces) {
  const Layout layout(std::vector<Rank>{0, 1, 2, 3});
  constexpr std::int64_t bytes = std::int64_t{8} << 20;
  for (const bool in_place : {false, true}) {
    DenseCall call;
    call.kind = Dense::allreduce;
    call.rank = 1;
    call.in_place = in_place;
    call.send = call.receive = Blocks::contiguous(bytes);
    call.sizes = Sizes::equal(bytes);
    call.combination = {"sum", "number", 8, false};
    const Plan plan =
        through_host(make_dense_plan(find_dense_rule(Dense::allreduce, "ring"), call, layout), {!in_place, true});
    int first = 0;
    while (plan.steps[static_cast<std::size_t>(first)].kind != StepKind::send) ++first;
    EXPECT_LE(fetched_before(plan, first), bytes / 4 + device_copy_bytes) << in_place;
    int stores = 0;
    for (const Step& step : plan.steps) stores += step.kind == StepKind::move && step.to == Buffer::receive;
    EXPECT_GE(stores, 4) << in_place;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DenseRules, testing::Range<std::size_t>(0, dense_rules().size()),
                         [](const testing::TestParamInfo<std::size_t>& row) {
                           const DenseRule& rule = dense_rules()[row.param];
                           return std::string(name(rule.kind)) + "_" + std::string(rule.name);
                         });

}  // namespace
}  // namespace laneway::dense_property
