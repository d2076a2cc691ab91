#include "algorithms/planner/route.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cases.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {
namespace {

struct Graph {
  std::vector<std::vector<Rank>> sources;
  std::vector<std::vector<Rank>> destinations;

  [[nodiscard]] Pattern pattern(Kind operation, std::int64_t bytes) const {
    Pattern pattern;
    for (std::size_t r = 0; r < sources.size(); ++r)
      pattern.push_back(Route::unit_pattern(operation, sources[r], destinations[r], bytes));
    return pattern;
  }
};

Graph random_graph(cases::Random& random, Rank ranks) {
  Graph graph{std::vector<std::vector<Rank>>(static_cast<std::size_t>(ranks)),
              std::vector<std::vector<Rank>>(static_cast<std::size_t>(ranks))};
  for (std::int64_t edges = random.between(0, 5 * ranks); edges > 0; --edges) {
    const auto from = static_cast<Rank>(random.between(0, ranks - 1));
    const auto to = static_cast<Rank>(random.between(0, ranks - 1));
    graph.destinations[static_cast<std::size_t>(from)].push_back(to);
    graph.sources[static_cast<std::size_t>(to)].push_back(from);
  }
  return graph;
}

/// The plans of all ranks by routes that were planned with `unit` bytes an edge.
std::vector<Plan> plans_by(const VirtualSetup& setup, std::int64_t unit, const Pattern& pattern, std::int64_t bytes,
                           const LoweringOptions& lowering = {}) {
  std::vector<Plan> plans;
  for (std::size_t r = 0; r < pattern.size(); ++r)
    plans.push_back(Route(setup.itineraries[r], unit).plan(pattern[r], bytes, lowering));
  return plans;
}

/// Routes planned with one size serve every other: the plans that each rank makes by itself are proven together.
TEST(Route, ServesEverySize) {
  int failures = 0;
  for (std::uint64_t seed = 0; seed < cases::effort(40) && failures < 5; ++seed) {
    cases::Random random(seed);
    const auto ranks = static_cast<Rank>(random.between(1, 14));
    const Graph graph = random_graph(random, ranks);
    const Machine machine = cases::random_machine(random, ranks);
    const std::int64_t unit = random.one_of<std::int64_t>({1, 8, 100, 4096});
    for (const Kind operation : {Kind::allgather, Kind::alltoall}) {
      for (const cases::Candidate& candidate : cases::candidates(seed)) {
        PlanOptions options;
        options.deduplicate = candidate.deduplicate;
        const VirtualSetup setup =
            plan_virtual_ranks(graph.pattern(operation, unit), machine, *candidate.strategy, options);
        if (!candidate.strategy->relays()) continue;
        for (const std::int64_t bytes : {1, 40, 200000}) {
          const Pattern pattern = graph.pattern(operation, bytes);
          LoweringOptions lowering;
          lowering.relay_message_bytes = random.one_of<std::int64_t>({0, 100, 16384});
          lowering.network_message_bytes = random.one_of<std::int64_t>({0, bytes / 3, 57344});
          const Report report = verify(plans_by(setup, unit, pattern, bytes, lowering), pattern);
          if (report.ok) continue;
          ++failures;
          ADD_FAILURE() << "seed " << seed << " " << candidate.name << " " << bytes << " bytes: " << to_string(report);
        }
      }
    }
  }
}

/// What Traits::scales promises, of every row: where it is true, the size that a route was planned with makes no
/// difference; where it is false, there is a case in which it does. multi_path cuts by size where links between devices
/// are known, which they are not here.
TEST(Route, OfEverySizeIsOneWhereLanesScale) {
  for (const StrategyRow& row : strategies()) {
    if (!row.traits.relays) continue;
    const std::unique_ptr<Strategy> strategy = row.make();
    bool same = true;
    for (std::uint64_t seed = 0; seed < cases::effort(60); ++seed) {
      cases::Random random(seed);
      const auto ranks = static_cast<Rank>(random.between(2, 14));
      const Graph graph = random_graph(random, ranks);
      const Machine machine = cases::random_machine(random, ranks);
      for (const bool deduplicate : {true, false})
        for (const Kind operation : {Kind::allgather, Kind::alltoall}) {
          PlanOptions options;
          options.deduplicate = deduplicate;
          constexpr std::int64_t bytes = 8192;
          const Pattern pattern = graph.pattern(operation, bytes);
          const auto plans_of = [&](std::int64_t unit) {
            const VirtualSetup setup = plan_virtual_ranks(graph.pattern(operation, unit), machine, *strategy, options);
            return plans_by(setup, unit, pattern, bytes);
          };
          const std::vector<Plan> plans = plans_of(bytes);
          for (const std::int64_t unit : {1, 512, 131072}) same = same && plans == plans_of(unit);
        }
    }
    EXPECT_EQ(row.traits.scales || row.traits.relays_inside, same) << row.name;
  }
}

}  // namespace
}  // namespace laneway
