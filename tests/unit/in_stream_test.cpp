// Plans with the two events of a user's stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "algorithms/lowering/through_host.hpp"
#include "cases.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/stream_event.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {
namespace {

const Step* stream_step_of(const Plan& plan, bool goes_out) {
  const auto found = std::ranges::find_if(
      plan.steps, [&](const Step& step) { return is_of_stream(step) && step.goes_out == goes_out; });
  return found != plan.steps.end() ? &*found : nullptr;
}

/// Plans of a case, as they run in streams with all buffers on devices.
std::vector<Plan> plans_in_streams(const cases::Case& c, const cases::Candidate& candidate, bool device_aware) {
  PlanOptions options = c.options;
  options.deduplicate = candidate.deduplicate;
  std::vector<Plan> plans = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans;
  for (Plan& plan : plans) {
    if (!device_aware) plan = through_host(std::move(plan), {true, true});
    plan = in_stream(std::move(plan), InStream{{true, true}, device_aware, false});
  }
  return plans;
}

struct EventCounts {
  int in = 0;
  int out = 0;
};

/// Both ways, plans are proven, and wait for the stream only where messages touch the buffers themselves.
TEST(InStream, PlansOfAllStrategiesAreProven) {
  EventCounts counts;
  for (std::uint64_t seed = 1; seed <= cases::effort(100); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed))
      for (const bool device_aware : {false, true}) {
        const std::vector<Plan> plans = plans_in_streams(c, candidate, device_aware);
        const Report report = verify(plans, c.pattern);
        ASSERT_TRUE(report.ok) << seed << " " << candidate.name << ": " << to_string(report);
        for (const Plan& plan : plans) {
          counts.in += stream_step_of(plan, false) != nullptr;
          counts.out += stream_step_of(plan, true) != nullptr;
          if (!device_aware) {
            ASSERT_EQ(stream_step_of(plan, false), nullptr);
          }
          const Plan again = plan_from_json(to_json(plan));
          ASSERT_EQ(again, plan);
        }
      }
  }
  EXPECT_GT(counts.in, 0);
  EXPECT_GT(counts.out, 0);
}

/// Without any one dependency of the two events, the proof of races fails.
TEST(InStream, EachDependencyIsNeeded) {
  int dropped = 0;
  for (std::uint64_t seed = 1; seed <= cases::effort(20); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      if (candidate.strategy->relays()) continue;  // there, steps may come after the event by others
      const std::vector<Plan> plans = plans_in_streams(c, candidate, true);
      for (std::size_t r = 0; r < plans.size(); ++r)
        for (std::size_t s = 0; s < plans[r].steps.size(); ++s)
          for (const int before : plans[r].steps[s].after) {
            const Step& other = plans[r].steps[static_cast<std::size_t>(before)];
            if (!is_of_stream(plans[r].steps[s]) && (!is_of_stream(other) || plans[r].steps[s].after.size() > 1))
              continue;
            std::vector<Plan> mutated = plans;
            std::erase(mutated[r].steps[s].after, before);
            ASSERT_FALSE(verify(mutated, c.pattern).ok)
                << seed << " " << candidate.name << " rank " << r << " step " << s;
            ++dropped;
          }
    }
  }
  EXPECT_GT(dropped, 50);
}

/// Where it makes no difference, it is the same plan: nothing has to be bound anew for a stream.
TEST(InStream, HostBuffersKeepTheirPlan) {
  RankPattern pattern;
  pattern.out = {{1, {{0, 8}}}};
  pattern.in = {{1, {{0, 8}}}};
  PlansByBuffers plans(std::make_shared<const Plan>(plan_direct(0, pattern)));
  EXPECT_EQ(plans.on(InStream{}), plans.plan());
  EXPECT_EQ(plans.on(InStream{{true, false}, false, false}), plans.on(OnDevice{true, false}));
  EXPECT_NE(plans.on(InStream{{true, true}, false, false}), plans.on(OnDevice{true, true}));
  EXPECT_NE(plans.on(InStream{{true, false}, true, false}), plans.plan());
}

}  // namespace
}  // namespace laneway
