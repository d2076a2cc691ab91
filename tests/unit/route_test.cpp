#include "setup/route.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cases.hpp"
#include "setup/virtual_ranks.hpp"
#include "verify/verify.hpp"

namespace laneway {
namespace {

/// Routes planned with one size serve every other: the plans that each rank makes by itself are proven together.
TEST(Route, ServesEverySize) {
  int failures = 0;
  for (std::uint64_t seed = 0; seed < cases::effort(40) && failures < 5; ++seed) {
    cases::Random random(seed);
    const auto ranks = static_cast<Rank>(random.between(1, 14));
    std::vector<std::vector<Rank>> sources(static_cast<std::size_t>(ranks));
    std::vector<std::vector<Rank>> destinations(static_cast<std::size_t>(ranks));
    for (std::int64_t edges = random.between(0, 5 * ranks); edges > 0; --edges) {
      const auto from = static_cast<Rank>(random.between(0, ranks - 1));
      const auto to = static_cast<Rank>(random.between(0, ranks - 1));
      destinations[static_cast<std::size_t>(from)].push_back(to);
      sources[static_cast<std::size_t>(to)].push_back(from);
    }
    const Machine machine = cases::random_machine(random, ranks);
    const std::int64_t unit = random.one_of<std::int64_t>({1, 8, 100, 4096});
    for (const Uniform operation : {Uniform::allgather, Uniform::alltoall}) {
      const auto pattern_of = [&](std::int64_t bytes) {
        Pattern pattern;
        for (std::size_t r = 0; r < sources.size(); ++r)
          pattern.push_back(Route::unit_pattern(operation, sources[r], destinations[r], bytes));
        return pattern;
      };
      for (const cases::Candidate& candidate : cases::candidates(seed)) {
        PlanOptions options;
        options.deduplicate = candidate.deduplicate;
        const VirtualSetup setup = plan_virtual_ranks(pattern_of(unit), machine, *candidate.strategy, options);
        if (!candidate.strategy->relays()) continue;
        for (const std::int64_t bytes : {1, 40, 200000}) {
          const Pattern pattern = pattern_of(bytes);
          LoweringOptions lowering;
          lowering.relay_message_bytes = random.one_of<std::int64_t>({0, 100, 16384});
          lowering.network_message_bytes = random.one_of<std::int64_t>({0, bytes / 3, 57344});
          std::vector<Plan> plans;
          for (std::size_t r = 0; r < pattern.size(); ++r)
            plans.push_back(Route(setup.itineraries[r], unit).plan(pattern[r], bytes, lowering));
          const Report report = verify(plans, pattern);
          if (report.ok) continue;
          ++failures;
          ADD_FAILURE() << "seed " << seed << " " << candidate.name << " " << bytes << " bytes: " << to_string(report);
        }
      }
    }
  }
}

}  // namespace
}  // namespace laneway
