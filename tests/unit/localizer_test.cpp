#include "carriers/node/localizer.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "virtual_node.hpp"

namespace laneway {
namespace {

struct Counts {
  std::int64_t puts = 0;
  std::int64_t pushed = 0;
  std::int64_t pulled = 0;
  std::int64_t messages = 0;
  std::int64_t run_ahead = 0;
};

void count(const std::vector<Plan>& plans, Counts& counts) {
  for (const Plan& plan : plans)
    for (const Step& step : plan.steps) {
      counts.messages += step.kind == StepKind::send;
      counts.puts += step.kind == StepKind::put;
      counts.run_ahead += step.kind == StepKind::put && step.slots > 2;
      counts.pushed += step.kind == StepKind::put && step.to == Buffer::staging;
      counts.pulled += step.kind == StepKind::take && step.from == Buffer::staging;
    }
}

/// With memory reused from exchange to exchange, all ranks agree with the oracle.
TEST(Localizer, ExchangesAgreeWithTheOracle) {
  Counts total;
  for (std::uint64_t seed = 1; seed <= cases::effort(200); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const cases::Localized localized = cases::localize(random, c, candidate);
      count(localized.plans, total);
      const cases::Exchanges data(random, c.pattern, 5);
      ASSERT_EQ(cases::run_exchanges(random, localized, data), "") << "seed " << seed << " " << candidate.name;
    }
  }
  EXPECT_GT(total.pushed, 0);
  EXPECT_GT(total.pulled, 0);
  EXPECT_GT(total.puts, total.pushed + total.pulled);
  EXPECT_GT(total.messages, 0);
  EXPECT_GT(total.run_ahead, 0);
}

/// Spoils one step of a plan, or says that it has nothing to spoil there.
using Mutation = std::function<bool(std::vector<Plan>& plans, std::size_t rank, std::size_t step)>;

bool is_gate(const Step& step, std::int64_t word) {
  return step.kind == StepKind::gate && step.flag == word;
}

/// Whether a gate for the completion of its peer holds back puts, or what that peer takes.
bool guards_puts(const Plan& plan, std::size_t gate) {
  return std::ranges::any_of(plan.steps, [&](const Step& step) {
    return step.kind == StepKind::put && std::ranges::count(step.after, static_cast<int>(gate)) > 0;
  });
}

bool open_later(Step& gate, std::int64_t lag) {
  gate.lag += lag;
  return true;
}

/// The test above sees errors in the rules by which memory is reused: without any one kind of them, it fails.
TEST(Localizer, TheScheduleFindsMutatedRules) {
  constexpr std::int64_t always = 1 << 30;
  const auto gate = [](std::int64_t word, std::int64_t lag, bool puts) -> Mutation {
    return [=](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
      Step& step = plans[rank].steps[s];
      return is_gate(step, word) && (word == started_word || guards_puts(plans[rank], s) == puts) &&
             open_later(step, lag);
    };
  };
  const std::map<std::string, Mutation> mutations = {
      {"no gate before puts into staging memory", gate(completed_word, always, true)},
      {"a later gate before puts into staging memory", gate(completed_word, 1, true)},
      {"no gate before what is taken", gate(completed_word, always, false)},
      {"a later gate before what is taken", gate(completed_word, 1, false)},
      {"no gate after mailboxes", gate(started_word, always, false)},
      {"a later gate after mailboxes", gate(started_word, 1, false)},
      {"the second slot's put goes to the first",
       [](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         Step& step = plans[rank].steps[s];
         return step.kind == StepKind::put && std::exchange(step.alternate, 0) != 0;
       }},
      {"a put does not cross over", [](std::vector<Plan>& plans, std::size_t rank,
                                       std::size_t s) { return std::exchange(plans[rank].steps[s].crosses, false); }},
      {"one place of staging memory",
       [](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         if (s != 0 || std::exchange(plans[rank].staging_alternate, 0) == 0) return false;
         for (Plan& plan : plans)
           for (Step& step : plan.steps)
             if (step.peer == static_cast<Rank>(rank) &&
                 ((step.kind == StepKind::put && step.to == Buffer::staging) ||
                  (step.kind == StepKind::take && step.from == Buffer::staging)))
               step.alternate = 0;
         return true;
       }},
      {"half the slots",
       [](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         Step& put = plans[rank].steps[s];
         if (put.kind != StepKind::put || put.slots == 2) return false;
         for (Step& take : plans[static_cast<std::size_t>(put.peer)].steps)
           if (take.kind == StepKind::take && take.flag == put.flag) take.slots /= 2;
         put.slots /= 2;
         return true;
       }},
      {"one slot",
       [](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         const Step& put = plans[rank].steps[s];
         if (put.kind != StepKind::put || put.alternate == 0 || put.crosses || put.slots > 2) return false;
         for (Step& take : plans[static_cast<std::size_t>(put.peer)].steps)
           if (take.kind == StepKind::take && take.flag == put.flag) take.alternate = 0;
         plans[rank].steps[s].alternate = 0;
         return true;
       }},
  };
  std::map<std::string, int> tried;
  std::map<std::string, int> found;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const cases::Localized localized = cases::localize(random, c, candidate);
      const cases::Exchanges data(random, c.pattern, 8);
      for (const auto& [name, mutate] : mutations) {
        constexpr int enough = 5;
        if (found[name] >= enough) continue;
        for (std::size_t rank = 0; rank < localized.plans.size(); ++rank)
          for (std::size_t s = 0; s < localized.plans[rank].steps.size() && found[name] < enough; ++s) {
            cases::Localized mutated = localized;
            if (!mutate(mutated.plans, rank, s)) continue;
            ++tried[name];
            found[name] += !cases::run_exchanges(random, mutated, data).empty();
          }
      }
    }
  }
  for (const auto& [name, mutate] : mutations) {
    EXPECT_GT(found[name], 0) << name << ": tried " << tried[name];
    RecordProperty(name, std::to_string(found[name]) + " of " + std::to_string(tried[name]));
  }
}

}  // namespace
}  // namespace laneway
