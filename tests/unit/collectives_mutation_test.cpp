#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/collective/expectation.hpp"
#include "dense_calls.hpp"
#include "mutants.hpp"
#include "plan/verify/verify.hpp"

// Breaks plans of operations among all ranks: the provers notice.

namespace laneway::dense_mutation {
namespace {

using cases::At;
using cases::Plans;

struct CollectiveMutator {
  const char* name;
  std::function<bool(cases::Random&, Plans&)> apply;  // false: nothing to break here
};

Step& step_at(Plans& plans, At at) {
  return plans[at.rank].steps[static_cast<std::size_t>(at.step)];
}

bool lose_contribution(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) { return combines(step); });
  if (at) step_at(plans, *at).runs.pop_back();
  return at.has_value();
}

/// After all else.
bool count_twice(cases::Random& random, Plans& plans) {
  const auto at =
      cases::find_step(random, plans, [](const Step& step) { return combines(step) && step.to == Buffer::receive; });
  if (!at) return false;
  std::vector<Step>& steps = plans[at->rank].steps;
  Step again = step_at(plans, *at);
  again.after.clear();
  for (int s = 0; s < static_cast<int>(steps.size()); ++s) again.after.push_back(s);
  steps.push_back(again);
  return true;
}

/// Two operands of one place, where order matters.
bool exchange_operands(cases::Random& random, Plans& plans) {
  const auto next_like = [&](At at) -> int {
    const Step& step = plans[at.rank].steps[static_cast<std::size_t>(at.step)];
    for (int s = at.step + 1; s < static_cast<int>(plans[at.rank].steps.size()); ++s) {
      const Step& other = plans[at.rank].steps[static_cast<std::size_t>(s)];
      if (combines(other) && other.to == step.to && other.runs.front().to == step.runs.front().to) return s;
    }
    return -1;
  };
  const auto at = cases::find_step(random, plans, [&](const Step& step, At here) {
    return combines(step) && plans[here.rank].combinations.front().in_order && next_like(here) >= 0;
  });
  if (!at) return false;
  Step& second = step_at(plans, {at->rank, next_like(*at)});
  std::vector<Step>& steps = plans[at->rank].steps;
  std::swap(step_at(plans, *at).runs, second.runs);
  // Both after what either waits for, so that only the order is wrong.
  std::vector<int>& first_after = steps[static_cast<std::size_t>(at->step)].after;
  for (const int before : second.after)
    if (before < at->step) first_after.push_back(before);
  return true;
}

bool wrong_operator(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) { return combines(step); });
  if (!at) return false;
  Combination other = plans[at->rank].combinations.front();
  other.operation = "max";
  plans[at->rank].combinations.push_back(other);
  step_at(plans, *at).combination = 1;
  return true;
}

/// Instead of combining, the last operand wins.
bool overwrite(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) { return combines(step); });
  if (at) step_at(plans, *at).combination = -1;
  return at.has_value();
}

bool forget_dependencies(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans,
                                   [](const Step& step) { return step.kind == StepKind::move && !step.after.empty(); });
  if (at) step_at(plans, *at).after.clear();
  return at.has_value();
}

bool send_other_bytes(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) {
    return step.kind == StepKind::send && !step.span.is_scattered() && step.span.buffer == Buffer::send;
  });
  if (at) step_at(plans, *at).span.offset += 1;
  return at.has_value();
}

bool move_place(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) {
    return step.kind == StepKind::receive && !step.span.is_scattered() && step.span.buffer == Buffer::receive;
  });
  if (at) step_at(plans, *at).span.offset += 1000;
  return at.has_value();
}

const std::vector<CollectiveMutator> mutators = {
    {"lose_contribution", lose_contribution},
    {"count_twice", count_twice},
    {"exchange_operands", exchange_operands},
    {"wrong_operator", wrong_operator},
    {"overwrite", overwrite},
    {"forget_dependencies", forget_dependencies},
    {"send_other_bytes", send_other_bytes},
    {"move_place", move_place},
};

class DenseMutations : public testing::TestWithParam<std::size_t> {};

TEST_P(DenseMutations, AreNoticed) {
  const CollectiveMutator& mutator = mutators[GetParam()];
  int broken = 0;
  for (std::uint64_t seed = 1000; seed < 1016; ++seed)
    for (const DenseRule& rule : dense_rules()) {
      if (rule.kind == Dense::barrier) continue;  // whose bytes nobody looks at
      const cases::DenseCase c = cases::make_dense_case(seed, rule.kind);
      if (!applies(rule, c.facts())) continue;
      Plans plans = cases::plans_of(c, rule);
      cases::Random random(seed);
      if (!mutator.apply(random, plans)) continue;
      ++broken;
      EXPECT_FALSE(verify_outcomes(plans, expected_outcomes(c.calls), c.how()).ok)
          << mutator.name << " in " << name(rule.kind) << " " << rule.name << ", seed " << seed;
    }
  EXPECT_GT(broken, 4);
}

INSTANTIATE_TEST_SUITE_P(All, DenseMutations, testing::Range<std::size_t>(0, mutators.size()),
                         [](const testing::TestParamInfo<std::size_t>& row) { return mutators[row.param].name; });

/// Among powers of two no message is for nothing.
TEST(Barrier, ThatDoesNotWaitForAllIsNoticed) {
  int broken = 0;
  for (const std::vector<Rank>& sizes : {std::vector<Rank>{8}, {4, 4}, {2, 2, 2, 2}})
    for (const DenseRule& rule : dense_rules()) {
      if (rule.kind != Dense::barrier) continue;
      cases::DenseCase c;
      // Leaders of one_hop go three ways at a time here: of four of them, some hear twice of another.
      const bool has_three_ways = rule.name == "one_hop" && sizes.size() == 4;
      c.layout = cases::layout_of(has_three_ways ? std::vector<Rank>{2, 2, 2} : sizes);
      for (Rank rank = 0; rank < c.layout.ranks(); ++rank) c.calls.emplace_back().rank = rank;
      const Plans plans = cases::plans_of(c, rule);
      ASSERT_TRUE(synchronizes(plans).ok);
      for (std::size_t rank = 0; rank < plans.size(); ++rank)
        for (int s = 0; s < static_cast<int>(plans[rank].steps.size()); ++s) {
          Plans mutant = plans;
          Step& step = step_at(mutant, {rank, s});
          if (step.kind != StepKind::send || step.after.empty()) continue;
          ++broken;
          step.after.clear();
          EXPECT_FALSE(synchronizes(mutant).ok) << rule.name << ", rank " << rank << " step " << s;
        }
    }
  EXPECT_GT(broken, 20);
}

}  // namespace
}  // namespace laneway::dense_mutation
