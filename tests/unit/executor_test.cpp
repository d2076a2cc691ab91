#include "runtime/executor/executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "cases.hpp"
#include "offline/in_process.hpp"
#include "offline/reference.hpp"
#include "offline/virtual_ranks.hpp"

namespace laneway {
namespace {

/// The executor that runs over MPI, here over virtual ranks that take turns, agrees with the oracle, again and again.
TEST(Executor, AgreesWithTheOracle) {
  for (std::uint64_t seed = 1; seed <= cases::effort(300); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      PlanOptions options = c.options;
      options.deduplicate = candidate.deduplicate;
      const std::vector<Plan> plans = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans;
      cases::Random random(seed);
      const std::vector<Memory> send = cases::buffers(random, c.pattern, &RankPattern::out);
      const std::vector<Memory> before = cases::buffers(random, c.pattern, &RankPattern::in);
      std::vector<Memory> expected = before;
      exchange(c.pattern, send, expected);

      std::vector<Memory> received = before;
      InProcessNetwork network;
      std::vector<std::unique_ptr<Executor>> executors;
      for (std::size_t r = 0; r < plans.size(); ++r) {
        const std::unique_ptr<Transport> transport = network.transport(static_cast<Rank>(r));
        executors.push_back(std::make_unique<Executor>(std::make_shared<const Plan>(plans[r]),
                                                       Buffers{cases::base_of(send[r]), cases::base_of(received[r])},
                                                       *transport));
      }
      for (int iteration = 0; iteration < 2; ++iteration) {
        for (std::size_t r = 0; r < received.size(); ++r) received[r].bytes = before[r].bytes;
        for (const auto& executor : executors) executor->start();
        bool complete = false;
        for (int turn = 0; !complete && turn < 10000; ++turn) {
          complete = true;
          for (const auto& executor : executors) complete = executor->progress() && complete;
        }
        ASSERT_TRUE(complete) << "seed " << seed << " " << candidate.name;
        ASSERT_TRUE(received == expected) << "seed " << seed << " " << candidate.name;
      }
    }
  }
}

}  // namespace
}  // namespace laneway
