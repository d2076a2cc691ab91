// What setup costs grows with what is to be moved: nothing looks at all lanes, edges or blocks for each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/lowering/lower.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "cases.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/pattern.hpp"

namespace laneway {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double least_seconds(const std::function<void()>& f) {
  double least = 1e9;
  for (int turn = 0; turn < 2; ++turn) {
    const double begin = cpu_seconds();
    f();
    least = std::min(least, cpu_seconds() - begin);
  }
  return least;
}

/// `f(n)` does something for n things. Sixteen times as many take 256 times as long if each is compared with each;
/// 16 times, and some more for what is sorted and for caches that are too small, if not.
void expect_no_squares(int n, const std::function<void(int)>& f) {
  if (cases::sanitized) n /= 4;
  const double few = least_seconds([&] { f(n); });
  const double many = least_seconds([&] { f(16 * n); });
  EXPECT_LT(many, 64 * few);
}

constexpr std::int64_t edge_bytes = 24;

/// Lanes that this rank, number 0, receives from n others: for itself and for rank 1, or whose bytes it is handed by
/// rank 1.
struct ManyLanes {
  ManyLanes(int n, Rank receiver) {
    RankPattern pattern;
    itinerary.rank = 0;
    for (int i = 0; i < n; ++i) {
      const Rank source = 2 + i;
      pattern.in.push_back({source, {{i * edge_bytes, edge_bytes}}});
      Lane lane;
      lane.from_region = source;
      lane.sender = source;
      lane.receiver = receiver;
      lane.pieces = {{source, 0, edge_bytes}};
      itinerary.in_lanes.push_back(lane);
      itinerary.in_direct.push_back(false);
      itinerary.in_inside.push_back(false);
      if (receiver == 0)
        for (Rank destination : {0, 1})
          itinerary.forwards.push_back({i, 0, destination, 0, {{0, edge_bytes}}, {{0, edge_bytes}}});
      else
        itinerary.arrivals.push_back({i, 0, i, {{0, edge_bytes}}});
    }
    demand = Demand(std::move(pattern));
  }

  Demand demand;
  Itinerary itinerary;
};

TEST(Scaling, LanesAreLowered) {
  for (Rank receiver : {0, 1})
    expect_no_squares(500, [&](int n) {
      const ManyLanes lanes(n, receiver);
      const Plan plan = Lowering(lanes.demand, lanes.itinerary, {}).finish();
      EXPECT_GE(plan.steps.size(), static_cast<std::size_t>(receiver == 0 ? n : 1));
    });
}

/// Two nodes of two ranks, and n edges between any two ranks of different nodes. All send the same bytes, or each has
/// its own, in n blocks.
Pattern repeated_edges(int n) {
  Pattern pattern(4);
  for (Rank rank = 0; rank < 4; ++rank)
    for (Rank peer : {rank < 2 ? 2 : 0, rank < 2 ? 3 : 1})
      for (int i = 0; i < n; ++i) {
        const std::int64_t at = (2 * i + peer % 2) * 2 * edge_bytes;
        pattern[static_cast<std::size_t>(rank)].out.push_back({peer, {{at, edge_bytes}}});
        pattern[static_cast<std::size_t>(rank)].in.push_back({peer, {{at, edge_bytes}}});
      }
  return pattern;
}

/// One edge of n blocks that do not lie together.
Pattern edges_of_blocks(int n) {
  Pattern pattern(4);
  for (Rank rank = 0; rank < 4; ++rank)
    for (Rank peer : {rank < 2 ? 2 : 0, rank < 2 ? 3 : 1}) {
      Edge edge{peer, {}};
      for (int i = 0; i < n; ++i) edge.ranges.append(Range{(peer % 2 * n + i) * 100 + i * i % 7 * 8, edge_bytes});
      pattern[static_cast<std::size_t>(rank)].out.push_back(edge);
      pattern[static_cast<std::size_t>(rank)].in.push_back(edge);
    }
  return pattern;
}

TEST(Scaling, EdgesAndBlocksArePlanned) {
  const Machine machine = Machine::parse("node:2 rank:2", 4);
  for (const auto& pattern_of : {repeated_edges, edges_of_blocks})
    for (const char* name : {"three_step", "split"})
      for (Rank few : {0, 4}) {
        if (few > 0 && std::string(name) == "split") continue;
        SCOPED_TRACE(std::string(name) + (few > 0 ? ", one chooses for all" : ""));
        StrategySettings settings;
        settings.message_cap = 4096;
        const auto strategy = make_strategy(name, settings);
        expect_no_squares(150, [&](int n) {
          PlanOptions options;
          options.packs = false;
          options.ranks = few;
          options.lowering.network_message_bytes = 4096;
          const VirtualSetup setup = plan_virtual_ranks(pattern_of(n), machine, *strategy, options);
          const std::vector<Region> nodes = {{0, {0, 1}}, {0, {0, 1}}, {2, {2, 3}}, {2, {2, 3}}};
          const std::vector<Plan> local = localize_virtual_ranks(setup.plans, nodes);
          EXPECT_FALSE(local.front().steps.empty());
        });
      }
}

}  // namespace
}  // namespace laneway
