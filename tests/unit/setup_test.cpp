#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "allocations.hpp"
#include "base/error.hpp"
#include "cases.hpp"
#include "offline/random_graphs.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

namespace {

thread_local std::int64_t allocations = 0;
thread_local std::int64_t allocated_bytes = 0;

[[maybe_unused]] bool count_allocation(std::size_t bytes) {
  ++allocations;
  allocated_bytes += static_cast<std::int64_t>(bytes);
  return true;
}

}  // namespace

#define LANEWAY_TEST_ALLOCATES(bytes) count_allocation(bytes)
#include "own_new.hpp"

namespace laneway {

std::int64_t allocated_bytes_so_far() {
  return allocated_bytes;
}

namespace {

Pattern stencil_pattern(const std::string& spec, Rank ranks) {
  Pattern pattern;
  for (Rank r = 0; r < ranks; ++r) pattern.push_back(alltoall_pattern(neighborhood(spec, r, ranks), 64));
  return pattern;
}

/// The most that any rank needs for its setup.
struct Most {
  std::int64_t control_messages = 0;
  std::int64_t control_bytes = 0;
  std::int64_t gather_bytes = 0;
  std::int64_t allocations = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t steps = 0;
  std::int64_t staging_bytes = 0;

  friend bool operator==(const Most&, const Most&) = default;
};

void raise(std::int64_t& most, std::int64_t value) {
  most = std::max(most, value);
}

/// Runs the setup of all ranks as plan_virtual_ranks does, but counts the allocations in the planners alone.
[[maybe_unused]] std::vector<std::int64_t> count_allocations(const Pattern& pattern, const Machine& machine,
                                                             const Strategy& strategy, std::int64_t& most_bytes) {
  const PlanOptions options;
  const std::size_t n = pattern.size();
  std::vector<Region> regions;
  for (std::size_t r = 0; r < n; ++r) regions.push_back(machine.region(0, static_cast<Rank>(r)));
  std::vector<std::unique_ptr<Planner>> planners(n);
  std::vector<Round> rounds(n);
  std::vector<std::int64_t> count(n, 0);
  std::vector<std::int64_t> bytes(n, 0);
  auto counted = [&](std::size_t r, auto&& phase) {
    const std::int64_t count_before = allocations;
    const std::int64_t bytes_before = allocated_bytes;
    phase();
    count[r] += allocations - count_before;
    bytes[r] += allocated_bytes - bytes_before;
  };
  for (std::size_t r = 0; r < n; ++r)
    counted(r, [&] {
      planners[r] = std::make_unique<Planner>(static_cast<Rank>(r), pattern[r], regions[r], strategy, options);
      rounds[r] = planners[r]->begin();
    });
  while (rounds.front().kind != Round::Kind::done) {
    std::vector<std::vector<Bytes>> inboxes(n);
    std::map<std::pair<std::size_t, Rank>, Bytes> mail;
    if (rounds.front().kind == Round::Kind::exchange) {
      for (std::size_t r = 0; r < n; ++r)
        for (ControlMessage& control_message : rounds[r].control_messages)
          mail[{r, control_message.peer}] = std::move(control_message.data);
      for (std::size_t r = 0; r < n; ++r)
        for (Rank from : rounds[r].from)
          inboxes[r].push_back(std::move(mail.at({static_cast<std::size_t>(from), static_cast<Rank>(r)})));
    } else {
      for (std::size_t r = 0; r < n; ++r)
        for (Rank member : regions[r].members)
          inboxes[r].push_back(rounds[static_cast<std::size_t>(member)].contribution);
    }
    for (std::size_t r = 0; r < n; ++r) counted(r, [&] { rounds[r] = planners[r]->resume(inboxes[r]); });
  }
  most_bytes = *std::max_element(bytes.begin(), bytes.end());
  return count;
}

Most measure(const std::string& dims, Rank ranks, const Strategy& strategy) {
  const auto begin = std::chrono::steady_clock::now();
  const Pattern pattern = stencil_pattern("stencil:points=27,dims=" + dims, ranks);
  const Machine machine = Machine::parse("node:* rank:20", ranks);
  Most most;
  {
    const VirtualSetup setup = plan_virtual_ranks(pattern, machine, strategy);
    for (std::size_t r = 0; r < pattern.size(); ++r) {
      raise(most.control_messages, setup.costs[r].control_messages_sent);
      raise(most.control_bytes, setup.costs[r].control_bytes_sent);
      raise(most.gather_bytes, setup.costs[r].region_gather_bytes);
      raise(most.steps, static_cast<std::int64_t>(setup.plans[r].steps.size()));
      raise(most.staging_bytes, setup.plans[r].staging_bytes);
    }
    const auto planned = std::chrono::steady_clock::now();
    const Report report = verify(setup.plans, pattern);
    EXPECT_TRUE(report.ok) << to_string(report);
    const std::chrono::duration<double> planning = planned - begin;
    const std::chrono::duration<double> verifying = std::chrono::steady_clock::now() - planned;
    std::printf("%d ranks: planned in %.1f s, verified in %.1f s\n", ranks, planning.count(), verifying.count());
  }
#ifdef LANEWAY_TEST_OWN_NEW
  const std::vector<std::int64_t> counts = count_allocations(pattern, machine, strategy, most.allocated_bytes);
  most.allocations = *std::max_element(counts.begin(), counts.end());
#endif
  std::printf(
      "  most of any rank: %lld letters of %lld bytes, %lld region-gather bytes, %lld allocations of %lld bytes, "
      "%lld steps, %lld staging bytes\n",
      static_cast<long long>(most.control_messages), static_cast<long long>(most.control_bytes),
      static_cast<long long>(most.gather_bytes), static_cast<long long>(most.allocations),
      static_cast<long long>(most.allocated_bytes), static_cast<long long>(most.steps),
      static_cast<long long>(most.staging_bytes));
  return most;
}

/// At fixed degree, no rank's setup or plan grows with the number of ranks: a 27-point stencil in three dimensions with
/// 20 ranks, one line of the grid, in each node; the nodes in the middle have the same surroundings at both sizes.
class SetupOf : public testing::TestWithParam<std::string> {};

TEST_P(SetupOf, NothingGrowsWithTheNumberOfRanks) {
  const auto strategy = find_strategy(GetParam()).make();
  const Most small = measure("5x10x20", 1000, *strategy);
  if (cases::sanitized) {
    std::printf("SKIP: sanitizers see no more at more ranks, which are compared without them\n");
    return;
  }
  const Most large =
      cases::effort(1) > 1 ? measure("40x20x20", 16000, *strategy) : measure("10x10x20", 2000, *strategy);
  EXPECT_EQ(small, large);
#ifdef LANEWAY_TEST_OWN_NEW
  EXPECT_GT(small.allocations, 0);
#else
  std::printf("SKIP: allocations are not counted under sanitizers\n");
#endif
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const StrategyRow& row : strategies()) names.emplace_back(row.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Strategies, SetupOf, testing::ValuesIn(strategy_names()),
                         [](const auto& name) { return name.param; });

/// The second plan on a topology need not learn the regions of its neighbours again.
TEST(Setup, KnownRegionsSaveARound) {
  const Pattern pattern = stencil_pattern("stencil:points=9,dims=4x4", 16);
  const Machine machine = Machine::parse("node:4 rank:4", 16);
  const auto strategy = make_strategy("three_step");
  const PlanOptions options;
  const Region region = machine.region(0, 5);
  Planner first(5, pattern[5], region, *strategy, options);
  const Round regions = first.begin();
  std::vector<Bytes> inbox;
  for (Rank peer : regions.from) {
    Writer writer;
    writer.put(machine.region_id(0, peer));
    inbox.push_back(writer.take());
  }
  const Round blocks = first.resume(inbox);
  Planner second(5, pattern[5], region, *strategy, options);
  const Round again = second.begin(&first.peer_regions());
  ASSERT_EQ(again.control_messages.size(), blocks.control_messages.size());
  EXPECT_EQ(again.from, blocks.from);
  for (std::size_t i = 0; i < again.control_messages.size(); ++i) {
    EXPECT_EQ(again.control_messages[i].peer, blocks.control_messages[i].peer);
    EXPECT_EQ(again.control_messages[i].data, blocks.control_messages[i].data);
  }
}

/// All members of a region hold the same view; both ends of a link see the same bytes.
TEST(Setup, ViewsAgree) {
  const Pattern pattern = stencil_pattern("moore:d=2,r=2,dims=4x6", 24);
  const Machine machine = Machine::parse("ranks:5,3,8,1,7", 24);
  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *make_strategy("three_step"));
  auto same = [](const Traffic& a, const Traffic& b) { return a.sources == b.sources && a.edges == b.edges; };
  for (Rank r = 0; r < 24; ++r) {
    const RegionView& view = setup.views[static_cast<std::size_t>(r)];
    const RegionView& shared = setup.views[static_cast<std::size_t>(view.region.id)];
    ASSERT_EQ(view.region, machine.region(0, r));
    ASSERT_EQ(view.out.size(), shared.out.size());
    ASSERT_EQ(view.in.size(), shared.in.size());
    for (std::size_t i = 0; i < view.out.size(); ++i) {
      EXPECT_TRUE(same(view.out[i], shared.out[i]));
      const RegionView& other = setup.views[static_cast<std::size_t>(view.out[i].region)];
      const auto back =
          std::find_if(other.in.begin(), other.in.end(), [&](const Traffic& l) { return l.region == view.region.id; });
      ASSERT_NE(back, other.in.end());
      EXPECT_TRUE(same(view.out[i], *back));
    }
  }
}

TEST(Setup, IsDeterministic) {
  const Pattern pattern = stencil_pattern("rsg:density=0.4,seed=3", 16);
  const Machine machine = Machine::parse("node:4 rank:4", 16);
  EXPECT_EQ(plan_virtual_ranks(pattern, machine, *make_strategy("three_step")).plans,
            plan_virtual_ranks(pattern, machine, *make_strategy("three_step")).plans);
}

TEST(Setup, DisagreementAboutAnEdgeIsNamed) {
  Pattern pattern(2);
  pattern[0].out.push_back({1, {{0, 8}}});
  const Machine machine = Machine::parse("node:2 rank:1", 2);
  try {
    (void)plan_virtual_ranks(pattern, machine, *make_strategy("three_step"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::topology);
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace laneway
