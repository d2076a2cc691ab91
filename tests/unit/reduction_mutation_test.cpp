#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mutants.hpp"
#include "plan/verify/verify.hpp"
#include "reductions.hpp"

// Breaks plans of reductions in the ways that only those can be broken: a contribution lost, or counted twice, or
// combined by another operator or in another order.

namespace laneway::reduction_mutation {
namespace {

using cases::At;
using cases::Catches;
using cases::Plans;

struct ReductionMutator {
  const char* name;
  std::function<std::optional<Catches>(cases::Random&, Plans&)> apply;  // nullopt: nothing to break here
};

Step& step_at(Plans& plans, At at) {
  return plans[at.rank].steps[static_cast<std::size_t>(at.step)];
}

std::optional<Catches> lose(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, combines);
  if (!at) return std::nullopt;
  step_at(plans, *at).runs.pop_back();
  return Catches::delivers;
}

/// After all else that its rank does to the place.
std::optional<Catches> count_twice(cases::Random& random, Plans& plans) {
  const auto at =
      cases::find_step(random, plans, [](const Step& step) { return combines(step) && step.to == Buffer::receive; });
  if (!at) return std::nullopt;
  std::vector<Step>& steps = plans[at->rank].steps;
  Step again = step_at(plans, *at);
  again.after.clear();
  for (int s = 0; s < static_cast<int>(steps.size()); ++s) again.after.push_back(s);
  steps.push_back(again);
  return Catches::delivers;
}

std::optional<Catches> count_twice_in_one_move(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, combines);
  if (!at) return std::nullopt;
  Step& step = step_at(plans, *at);
  step.runs.push_back(random.pick(step.runs));
  return Catches::delivers;
}

std::optional<Catches> overwrite(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, combines);
  if (!at) return std::nullopt;
  step_at(plans, *at).combination = -1;
  return Catches::delivers;
}

/// Staging memory holds whatever it held before.
std::optional<Catches> combine_the_first(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(
      random, plans, [](const Step& step) { return is_copy(step) && !combines(step) && step.from == Buffer::staging; });
  if (!at) return std::nullopt;
  step_at(plans, *at).combination = 0;
  return Catches::delivers;
}

std::optional<Catches> use_another_operator(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, combines);
  if (!at) return std::nullopt;
  Plan& plan = plans[at->rank];
  plan.combinations.push_back(plan.combinations.front());
  plan.combinations.back().operation = "product";
  step_at(plans, *at).combination = 1;
  return Catches::delivers;
}

/// Who combines with a place first would depend on what arrives first.
std::optional<Catches> forget_order(cases::Random& random, Plans& plans) {
  const auto writes_the_same = [](const Step& a, const Step& b) {
    return combines(a) && combines(b) && a.to == b.to && a.runs.front().to == b.runs.front().to;
  };
  const auto at = cases::find_step(random, plans, [&](const Step& step, At where) {
    return std::ranges::any_of(step.after, [&](int before) {
      return writes_the_same(step, step_at(plans, {where.rank, before}));
    });
  });
  if (!at) return std::nullopt;
  Step& step = step_at(plans, *at);
  std::erase_if(step.after, [&](int before) { return combines(step_at(plans, {at->rank, before})); });
  return Catches::race_free;
}

std::optional<Catches> malform(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, combines);
  if (!at) return std::nullopt;
  Plan& plan = plans[at->rank];
  Step& step = step_at(plans, *at);
  switch (random.between(0, 4)) {
    case 0:
      step.combination = random.one_of<std::int8_t>({1, -2});
      break;
    case 1:
      if (plan.combinations.front().element_bytes == 1) return std::nullopt;
      --step.runs.front().bytes;
      break;
    case 2:
      plan.combinations.front().element_bytes = 0;
      break;
    case 3: {
      const auto message = cases::find_step(random, plans, [](const Step& each) { return !is_copy(each); });
      if (!message) return std::nullopt;
      step_at(plans, *message).combination = 0;
      break;
    }
    default:
      plan.combinations.front().in_order = true;
      step.from = Buffer::send;
  }
  return Catches::well_formed;
}

const std::vector<ReductionMutator> mutators = {
    {"lose a contribution", lose},
    {"count one twice", count_twice},
    {"count one twice in one move", count_twice_in_one_move},
    {"overwrite", overwrite},
    {"combine the first", combine_the_first},
    {"use another operator", use_another_operator},
    {"forget the order", forget_order},
    {"malform", malform},
};

bool is_caught(Catches by, const Plans& plans, const cases::Reduction& reduction) {
  if (by == Catches::delivers) return !delivers(plans, reduction.c.pattern, &reduction.how).ok;
  if (by == Catches::nothing) return verify(plans, reduction.c.pattern, &reduction.how).ok;
  return cases::caught(by, plans, reduction.c.pattern);
}

TEST(ReductionMutation, EveryBrokenPlanIsCaughtByTheProverInCharge) {
  std::vector<int> mutants(mutators.size());
  for (std::uint64_t seed = 1; seed <= cases::effort(20); ++seed)
    for (const bool in_order : {false, true}) {
      const cases::Reduction reduction = cases::make_reduction(seed, in_order);
      std::vector<Plans> all;
      if (in_order) {
        Plans& plans = all.emplace_back();
        for (std::size_t r = 0; r < reduction.c.pattern.size(); ++r)
          plans.push_back(reduce_in_order(static_cast<Rank>(r), reduction.c.pattern[r], reduction.how));
      } else {
        for (const cases::Candidate& candidate : cases::candidates(seed))
          if (!candidate.strategy->traits().relays_inside)
            all.push_back(cases::run_backwards(reduction, candidate, true).plans);
      }
      cases::Random random(seed);
      for (const Plans& plans : all)
        for (std::size_t m = 0; m < mutators.size(); ++m) {
          Plans mutant = plans;
          const auto by = mutators[m].apply(random, mutant);
          if (!by) continue;
          ASSERT_TRUE(is_caught(*by, mutant, reduction)) << mutators[m].name << ", seed " << seed;
          ++mutants[m];
        }
    }
  for (std::size_t m = 0; m < mutators.size(); ++m) {
    std::printf("%-30s %6d caught\n", mutators[m].name, mutants[m]);
    EXPECT_GT(mutants[m], 0) << mutators[m].name;
  }
}

/// Two messages that are combined with one place change places in the order: that matters only where it is promised.
TEST(ReductionMutation, OperandsThatAreExchangedAreCaughtWhereOrderMatters) {
  const RankPattern sender{{{0, {{0, 8}}}}, {}};
  const Pattern pattern = {{{}, {{2, {{16, 8}}}, {1, {{16, 8}}}}}, sender, sender};
  for (const bool in_order : {false, true}) {
    const Combination how{"sum", "number", 8, in_order};
    Plans plans;
    for (std::size_t r = 0; r < pattern.size(); ++r)
      plans.push_back(reduce_in_order(static_cast<Rank>(r), pattern[r], how));
    ASSERT_TRUE(verify(plans, pattern, &how).ok) << to_string(verify(plans, pattern, &how));
    std::vector<Step>& steps = plans[0].steps;
    ASSERT_EQ(steps.size(), 4U);
    ASSERT_TRUE(combines(steps[2]) && combines(steps[3]));
    std::swap(steps[2].runs, steps[3].runs);
    steps[2].after = {0, 1};
    const Report report = verify(plans, pattern, &how);
    EXPECT_EQ(report.ok, !in_order) << to_string(report);
    EXPECT_EQ(delivers(plans, pattern, &how).ok, !in_order);
  }
}

}  // namespace
}  // namespace laneway::reduction_mutation
