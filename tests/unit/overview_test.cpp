#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/planner/overview.hpp"
#include "cases.hpp"
#include "machine/parameters.hpp"
#include "offline/random_graphs.hpp"
#include "offline/virtual_ranks.hpp"

namespace laneway {
namespace {

/// Where one rank chooses for all, plans are those that regions make which choose for themselves.
TEST(Overview, PlansAreThoseOfRegionsThatChooseForThemselves) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < cases::effort(300); ++seed) {
    const cases::Case c = cases::make_case(seed);
    const auto ranks = static_cast<Rank>(c.pattern.size());
    if (ranks > few_ranks) continue;
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      PlanOptions options = c.options;
      options.deduplicate = candidate.deduplicate;
      const std::vector<Plan> apart = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans;
      options.ranks = ranks;
      ASSERT_EQ(plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans, apart)
          << "seed " << seed << " " << candidate.name;
      ++seen;
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(Overview, TheChoiceIsTheSame) {
  const Parameters parameters = Parameters::read("default-ethernet");
  const Levels automatic = choose_levels("auto");
  for (std::uint64_t seed = 0; seed < cases::effort(600); ++seed) {
    const cases::Case c = cases::make_case(seed);
    const auto ranks = static_cast<Rank>(c.pattern.size());
    if (ranks > few_ranks) continue;
    const VirtualSetup apart = plan_virtual_ranks(c.pattern, c.machine, automatic, {}, {}, &parameters);
    const VirtualSetup together = plan_virtual_ranks(c.pattern, c.machine, automatic, {}, {}, &parameters, ranks);
    ASSERT_EQ(together.selection.chosen, apart.selection.chosen) << "seed " << seed;
    ASSERT_EQ(together.plans, apart.plans) << "seed " << seed;
    ASSERT_EQ(together.selection.predictions.size(), apart.selection.predictions.size());
    for (std::size_t p = 0; p < apart.selection.predictions.size(); ++p)
      ASSERT_FLOAT_EQ(static_cast<float>(together.selection.predictions[p].seconds),
                      static_cast<float>(apart.selection.predictions[p].seconds))
          << "seed " << seed;
  }
}

/// What others would learn in four rounds and a reduction they hear in one control message.
TEST(Overview, TakesALetterFromAndToEachRank) {
  Pattern pattern;
  for (Rank rank = 0; rank < 16; ++rank)
    pattern.push_back(alltoall_pattern(neighborhood("stencil:points=9,dims=4x4,periodic=0", rank, 16), 64));
  const Machine machine = Machine::parse("node:4 rank:4", 16);
  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, choose_levels("three_step"), {}, {}, nullptr, 16);
  for (std::size_t rank = 0; rank < 16; ++rank) {
    const auto neighbors = static_cast<std::int64_t>(pattern[rank].out.size());
    EXPECT_EQ(setup.costs[rank].control_messages_sent, neighbors + (rank == 0 ? 15 : 1)) << "rank " << rank;
    EXPECT_EQ(setup.costs[rank].region_gathers, 0);
  }
}

}  // namespace
}  // namespace laneway
