#include "runtime/carriers/localizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "offline/virtual_ranks.hpp"
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
      counts.puts += cases::is_put(step);
      counts.run_ahead += cases::is_put(step) && cases::ring(step).places > 2;
      counts.pushed += cases::is_push(step);
      counts.pulled += cases::is_pulled(step);
    }
}

/// With memory reused from exchange to exchange, all ranks agree with the oracle.
TEST(Localizer, ExchangesAgreeWithTheOracle) {
  Counts total;
  for (std::uint64_t seed = 1; seed <= cases::effort(200); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const cases::Localized localized =
          cases::localize(random, c, candidate, cases::NodeUse::own_staging, cases::carrier_for(seed));
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

/// Ranks that share memory may be described as several nodes. What one hands on was put there by another one, so that
/// nobody can take it from there; it must not become a message of the MPI library.
TEST(Localizer, RelayedPiecesStayInMemory) {
  constexpr Rank members = 4;
  constexpr std::int64_t bytes = 8192;
  Pattern pattern(2 * members);
  Region all{0, {}};
  for (Rank rank = 0; rank < 2 * members; ++rank) {
    all.members.push_back(rank);
    RankPattern& own = pattern[static_cast<std::size_t>(rank)];
    for (Rank i = 0; i < members; ++i) {
      const Rank peer = (rank / members + 1) % 2 * members + i;
      own.out.push_back({peer, {{0, bytes}}});
      own.in.push_back({peer, {{i * bytes, bytes}}});
    }
  }
  const Machine machine = Machine::parse("node:2 rank:4", 2 * members);
  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *make_strategy("three_step", {}));
  Counts total;
  count(localize_virtual_ranks(setup.plans, std::vector<Region>(pattern.size(), all)), total);
  EXPECT_GT(total.pushed, 0);
  EXPECT_EQ(total.messages, 0);
}

/// Spoils one step of a plan, or says that it has nothing to spoil there.
using Mutation = std::function<bool(std::vector<Plan>& plans, std::size_t rank, std::size_t step)>;

/// Whether a gate for the completion of its peer holds back puts, or what that peer takes.
bool guards_puts(const Plan& plan, std::size_t gate) {
  return std::ranges::any_of(plan.steps, [&](const Step& step) {
    return cases::is_put(step) && std::ranges::count(step.after, static_cast<int>(gate)) > 0;
  });
}

bool open_later(Step& gate, std::int32_t lag) {
  gate.await->lag += lag;
  return true;
}

/// The test above sees errors in the rules by which memory is reused: without any one kind of them, it fails.
TEST(Localizer, TheScheduleFindsMutatedRules) {
  constexpr std::int32_t always = 1 << 30;
  const auto half = [](Ring& ring) { ring.places /= 2; };
  const auto still = [](Ring& ring) { ring.distance = 0; };
  const auto gate = [](Sign sign, std::int32_t lag, bool puts) -> Mutation {
    return [=](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
      Step& step = plans[rank].steps[s];
      return cases::is_gate(step, sign) && (sign == Sign::started || guards_puts(plans[rank], s) == puts) &&
             open_later(step, lag);
    };
  };
  const std::map<std::string, Mutation> mutations = {
      {"no gate before puts into staging memory", gate(Sign::completed, always, true)},
      {"a later gate before puts into staging memory", gate(Sign::completed, 1, true)},
      {"no gate before what is taken", gate(Sign::completed, always, false)},
      {"a later gate before what is taken", gate(Sign::completed, 1, false)},
      {"no gate after mailboxes", gate(Sign::started, always, false)},
      {"a later gate after mailboxes", gate(Sign::started, 1, false)},
      {"the second slot's put goes to the first",
       [](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         Step& step = plans[rank].steps[s];
         if (!cases::is_put(step) || cases::ring(step).distance == 0) return false;
         cases::change_ring(step, [](Ring& ring) { ring.distance = 0; });
         return true;
       }},
      {"a put does not cross over",
       [](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         Step& step = plans[rank].steps[s];
         if (!signals(step) || !cases::ring(step).crosses) return false;
         cases::change_ring(step, [](Ring& ring) { ring.crosses = false; });
         return true;
       }},
      {"one place of staging memory",
       [](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         if (s != 0 || std::exchange(plans[rank].staging_alternate, 0) == 0) return false;
         for (Plan& plan : plans)
           for (Step& step : plan.steps)
             if (step.peer == static_cast<Rank>(rank) && (cases::is_push(step) || cases::is_pulled(step)))
               cases::ring(step).distance = 0;
         return true;
       }},
      {"half the slots",
       [=](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         Step& put = plans[rank].steps[s];
         if (!cases::is_put(put) || cases::ring(put).places <= 2) return false;
         for (Step& take : plans[static_cast<std::size_t>(put.peer)].steps)
           if (cases::is_take(take) && cases::word(take).offset == cases::word(put).offset)
             cases::change_ring(take, half);
         cases::change_ring(put, half);
         return true;
       }},
      {"one slot",
       [=](std::vector<Plan>& plans, std::size_t rank, std::size_t s) {
         const Step& put = plans[rank].steps[s];
         const Ring& ring = cases::ring(put);
         if (!cases::is_put(put) || ring.distance == 0 || ring.crosses || ring.places > 2) return false;
         for (Step& take : plans[static_cast<std::size_t>(put.peer)].steps)
           if (cases::is_take(take) && cases::word(take).offset == cases::word(put).offset)
             cases::change_ring(take, still);
         cases::change_ring(plans[rank].steps[s], still);
         return true;
       }},
  };
  std::map<std::string, int> tried;
  std::map<std::string, int> found;
  constexpr int enough = cases::sanitized ? 1 : 5;
  const auto is_enough = [&](const auto& mutation) { return found[mutation.first] >= enough; };
  for (std::uint64_t seed = 1; seed <= 60 && !std::ranges::all_of(mutations, is_enough); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const cases::Localized localized = cases::localize(random, c, candidate);
      const cases::Exchanges data(random, c.pattern, 8);
      for (const auto& [name, mutate] : mutations) {
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
