#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/collective/choice.hpp"
#include "algorithms/collective/cost_parts.hpp"
#include "base/error.hpp"
#include "dense_calls.hpp"

namespace laneway::dense_choice {
namespace {

constexpr std::int64_t block = 4096;

/// What plans do, counted.
struct Counted {
  Flow network;   ///< of the rank that has most
  Flow injected;  ///< of the node that sends most, or receives most
  Flows all;      ///< of all ranks, but for what they wait
};

DenseCall equal_call(Dense kind, Rank rank, Rank ranks, std::int64_t bytes) {
  DenseCall call;
  call.kind = kind;
  call.rank = rank;
  call.sizes = Sizes::equal(bytes);
  const std::int64_t part = kind == Dense::reduce_scatter ? bytes / ranks : bytes;
  call.send = call.receive = Blocks::contiguous(part);
  if (reduces(kind)) call.combination = {"sum", "number", 8, false};
  return call;
}

Counted count(const DenseRule& rule, const Layout& layout, const DenseSettings& settings, std::int64_t bytes = block) {
  Counted most;
  std::vector<double> left(static_cast<std::size_t>(layout.regions()), 0);
  std::vector<double> entered = left;
  for (Rank rank = 0; rank < layout.ranks(); ++rank) {
    Counted own[2];  // sent, received
    const Plan plan = make_dense_plan(rule, equal_call(rule.kind, rank, layout.ranks(), bytes), layout, settings);
    for (const Step& step : plan.steps) {
      if (step.kind == StepKind::move)
        for (const CopyRun& run : step.runs) most.all.combined_bytes += static_cast<double>(run.bytes * run.count);
      if (step.kind != StepKind::send && step.kind != StepKind::receive) continue;
      if (layout.region(step.peer) == layout.region(rank)) {
        if (step.kind == StepKind::receive) continue;
        most.all.node.messages += 1;
        most.all.node.bytes += static_cast<double>(step.span.bytes);
        continue;
      }
      Counted& way = own[step.kind == StepKind::send ? 0 : 1];
      way.network.messages += 1;
      way.network.bytes += static_cast<double>(step.span.bytes);
    }
    left[static_cast<std::size_t>(layout.region(rank))] += own[0].network.bytes;
    entered[static_cast<std::size_t>(layout.region(rank))] += own[1].network.bytes;
    most.all.network.messages += own[0].network.messages;
    most.all.network.bytes += own[0].network.bytes;
    for (const Counted& way : own) {
      most.network.messages = std::max(most.network.messages, way.network.messages);
      most.network.bytes = std::max(most.network.bytes, way.network.bytes);
    }
  }
  most.injected.bytes = std::max(*std::ranges::max_element(left), *std::ranges::max_element(entered));
  return most;
}

/// The closed forms say what the plans do, and how far the last segment of a chain has to go.
TEST(DenseChoice, CostsAreWhatPlansDo) {
  const Layout layout = cases::layout_of({4, 4, 4, 4});
  DenseSettings settings;
  settings.leaders = 2;
  settings.segment_bytes = 1 << 20;
  for (const DenseRule& rule : dense_rules()) {
    const DenseFacts facts{rule.kind, 0, block, 8, false, true};
    const DenseCost cost = rule.cost({facts, layout, settings});
    const Counted counted = count(rule, layout, settings);
    const std::string what =
        std::string(name(rule.kind)) + " " + std::string(rule.name) + ": " + std::to_string(counted.network.messages) +
        " messages, " + std::to_string(counted.network.bytes) + " bytes, " + std::to_string(counted.injected.bytes) +
        " injected; said are " + std::to_string(cost.network.messages) + ", " + std::to_string(cost.network.bytes) +
        ", " + std::to_string(cost.injected.bytes);
    const bool is_chain =
        rule.name == "chain" || rule.name == "linear" || (rule.kind == Dense::reduce && rule.name == "ordered");
    // What a rank sends to several others at once reaches all of them at the same time: one more way in such a tree.
    const bool is_tree = rule.name == "binomial" && (rule.kind == Dense::bcast || rule.kind == Dense::reduce);
    const double way = is_chain ? layout.regions() - 1 : is_tree ? 1 : 0;
    EXPECT_NEAR(cost.network.messages, counted.network.messages, 0.25 * counted.network.messages + 0.5 + way) << what;
    EXPECT_NEAR(cost.network.bytes, counted.network.bytes, 0.25 * counted.network.bytes + way * block) << what;
    EXPECT_NEAR(cost.injected.bytes, counted.injected.bytes, 0.35 * counted.injected.bytes) << what;
  }
}

/// The emulated clusters: nodes, and what their links carry in a second.
struct Cluster {
  std::vector<Rank> sizes;
  const char* parameters;
};
const std::vector<Cluster> clusters{
    {{4, 4, 4, 4}, "cluster-4x4-200mbit"}, {{8, 8}, "cluster-2x8-1gbit"}, {{5, 3, 8}, "cluster-4x4-200mbit"}};

/// Also where nodes differ in size: what goes through the busiest node's link, and what all ranks send and add up.
TEST(DenseChoice, CostsOfTheClustersAreCounted) {
  const DenseSettings settings;
  for (const Cluster& cluster : clusters) {
    const Layout layout = cases::layout_of(cluster.sizes);
    for (const std::int64_t bytes : {std::int64_t{512}, std::int64_t{1} << 20})
      for (const DenseRule& rule : dense_rules()) {
        if (rule.traits.windows != Windows::none || (rule.kind == Dense::alltoall && bytes > 65536)) continue;
        const DenseFacts facts{rule.kind, 0, bytes, 8, false, true};
        const DenseCost cost = rule.cost({facts, layout, settings});
        const Counted counted = count(rule, layout, settings, bytes);
        const std::string what = std::string(name(rule.kind)) + " " + std::string(rule.name) + " of " +
                                 std::to_string(bytes) + " bytes, " + std::to_string(layout.largest()) +
                                 " ranks on the largest node";
        // Relays of uneven nodes are said as if nodes were even.
        const bool is_even = layout.ranks() == layout.largest() * layout.regions();
        const bool is_rough = rule.kind == Dense::alltoall && rule.traits.relays && !is_even;
        const auto is_near = [&](double said, double found, const char* of, double within) {
          EXPECT_NEAR(said, found, (is_rough ? 0.7 : within) * found + 0.5) << what << ": " << of;
        };
        is_near(cost.all.node.messages, counted.all.node.messages, "messages inside nodes", 0.2);
        is_near(cost.all.node.bytes, counted.all.node.bytes, "bytes inside nodes", 0.02);
        is_near(cost.all.network.messages, counted.all.network.messages, "messages between nodes", 0.02);
        is_near(cost.all.network.bytes, counted.all.network.bytes, "bytes between nodes", 0.02);
        is_near(cost.injected.bytes, counted.injected.bytes, "bytes through the busiest link", 0.05);
        if (reduces(rule.kind)) is_near(cost.all.combined_bytes, counted.all.combined_bytes, "sums", 0.66);
      }
  }
}

/// Of large vectors the rule that is taken has no more bytes on the busiest link than must pass it, nearly.
TEST(DenseChoice, LargeVectorsPassTheBusiestLinkOnce) {
  const DenseSettings settings;
  constexpr std::int64_t bytes = 1 << 20;
  for (const Cluster& cluster : clusters) {
    const Layout layout = cases::layout_of(cluster.sizes);
    const Parameters parameters = Parameters::read(cluster.parameters);
    const double nodes = layout.regions();
    for (const auto& [kind, vectors] : std::vector<std::pair<Dense, double>>{
             {Dense::bcast, 1}, {Dense::reduce, 1}, {Dense::allreduce, 2 * (1 - 1 / nodes)}}) {
      const DenseChoice choice =
          choose_dense_rule({kind, 0, bytes, 8, false, true}, layout, parameters, settings, OnNode::memory);
      const Counted counted = count(*choice.rule, layout, settings, bytes);
      EXPECT_LE(counted.injected.bytes, 1.05 * vectors * bytes) << choice.reason;
    }
  }
}

/// The shorter a vector and the more nodes it passes, the shorter are its segments: else the last node has to wait for
/// as many whole vectors as there are links. What no other node waits for is not cut.
TEST(DenseChoice, SegmentsOfVectorsAreAsShortAsLatencyAllows) {
  const Parameters parameters = Parameters::read("cluster-4x4-200mbit");
  const auto segment = [&](Dense kind, std::int64_t bytes, std::vector<Rank> nodes) {
    const Layout layout = cases::layout_of(nodes);
    const DenseRule& rule = find_dense_rule(kind, kind == Dense::alltoall ? "nonblocking" : "chain");
    const DenseSettings settings = settled(rule, {kind, 0, bytes, 8, false, true}, layout, parameters, {});
    return settings.segment_bytes;
  };
  const std::int64_t uncut = DenseSettings().segment_bytes;
  for (const Dense kind : {Dense::bcast, Dense::reduce}) {
    EXPECT_LE(segment(kind, 65536, {4, 4, 4, 4}), 16384);
    EXPECT_LE(segment(kind, 65536, {2, 2, 2, 2, 2, 2, 2, 2}), segment(kind, 65536, {4, 4, 4, 4}));
    EXPECT_LE(segment(kind, 65536, {4, 4, 4, 4}), segment(kind, 1 << 20, {4, 4, 4, 4}));
    EXPECT_EQ(segment(kind, 1 << 30, {4, 4, 4, 4}), uncut);
    EXPECT_EQ(segment(kind, 65536, {8, 8}), uncut);
    EXPECT_GT(segment(kind, 0, {4, 4, 4, 4}), 0);
  }
  EXPECT_EQ(segment(Dense::alltoall, 65536, {4, 4, 4, 4}), uncut);
}

/// Of a short vector leaders send the sums of their nodes: a message of each in each round.
TEST(DenseChoice, ShortReduceScattersHaveFewMessages) {
  const Layout layout = cases::layout_of({4, 4, 4, 4});
  const Parameters parameters = Parameters::read("cluster-4x4-200mbit");
  const DenseChoice choice =
      choose_dense_rule({Dense::reduce_scatter, 0, 1024, 8, false, true}, layout, parameters, {}, OnNode::memory);
  EXPECT_EQ(count(*choice.rule, layout, {}, 1024).all.network.messages, 8) << choice.reason;
}

/// Lanes of three nodes are rings. By halves and doubling the node that gets the third one's vector would send two.
TEST(DenseChoice, LanesOfThreeNodesAreRings) {
  const Layout layout = cases::layout_of({5, 3, 8});
  const DenseRule& rule = find_dense_rule(Dense::allreduce, "multi_lane");
  for (const std::int64_t bytes : {std::int64_t{4096}, std::int64_t{1} << 20}) {
    const Counted counted = count(rule, layout, {}, bytes);
    EXPECT_NEAR(counted.injected.bytes, 4.0 / 3 * static_cast<double>(bytes), 0.02 * static_cast<double>(bytes));
  }
}

/// On shared processors messages cost all ranks of the host: of short blocks few are sent, of long ones all in turn.
TEST(DenseChoice, AllToAllOfTheClusters) {
  for (const Cluster& cluster : clusters) {
    const Layout layout = cases::layout_of(cluster.sizes);
    const Parameters parameters = Parameters::read(cluster.parameters);
    const auto chosen = [&](std::int64_t bytes) {
      return choose_dense_rule({Dense::alltoall, 0, bytes, 1, false, true}, layout, parameters, {}, OnNode::memory);
    };
    for (const std::int64_t bytes : {8, 64}) {
      const DenseChoice choice = chosen(bytes);
      const Counted counted = count(*choice.rule, layout, {}, bytes);
      const Counted direct = count(find_dense_rule(Dense::alltoall, "nonblocking"), layout, {}, bytes);
      EXPECT_LE(counted.all.network.messages, direct.all.network.messages / 2) << choice.reason;
      EXPECT_LE(counted.injected.bytes, 1.05 * direct.injected.bytes) << choice.reason;
    }
    EXPECT_EQ(chosen(131072).rule->name, "pairwise") << chosen(131072).reason;
  }
}

/// Where each rank has a core, few short messages in a row beat many at once.
TEST(DenseChoice, ShortAllToAllOfManyRanksTakesLogarithmicRounds) {
  const Layout layout = cases::layout_of(std::vector<Rank>(64, 16));
  for (const bool equal : {true, false}) {
    const DenseChoice choice = choose_dense_rule({Dense::alltoall, 0, 4, 1, false, equal}, layout,
                                                 Parameters::read("dane-like"), {}, OnNode::memory);
    EXPECT_TRUE(choice.rule->traits.hops) << choice.reason;
  }
}

TEST(DenseChoice, SmallAndLargeMessagesGoOtherWays) {
  std::vector<Rank> sizes(32, 16);
  const Layout layout = cases::layout_of(sizes);
  const Parameters parameters = Parameters::read("default-hpc");
  const auto chosen = [&](Dense kind, std::int64_t bytes) {
    return choose_dense_rule({kind, 0, bytes, 8, false, true}, layout, parameters);
  };
  for (const Dense kind : {Dense::alltoall, Dense::allgather, Dense::bcast, Dense::allreduce, Dense::reduce}) {
    std::set<std::string> names;
    for (std::int64_t bytes = 8; bytes <= 1 << 24; bytes *= 8) {
      const DenseChoice choice = chosen(kind, bytes);
      names.insert(std::string(choice.rule->name));
      EXPECT_GT(choice.seconds, 0) << choice.reason;
      EXPECT_TRUE(std::ranges::is_sorted(choice.candidates, {}, &DenseCandidate::seconds));
      EXPECT_NE(choice.reason.find(choice.rule->name), std::string::npos);
    }
    EXPECT_GT(names.size(), 1u) << name(kind);
  }
  // Data between nodes once a node, or log2 of the messages: never the rule that sends the most of both.
  EXPECT_NE(chosen(Dense::alltoall, 8).rule->name, "nonblocking");
  EXPECT_NE(chosen(Dense::allreduce, 1 << 24).rule->name, "recursive_doubling");
}

TEST(DenseChoice, OperandsInOrderHaveCanonicalRulesOnly) {
  const Layout layout = cases::layout_of({3, 2});
  const Parameters parameters = Parameters::read("default-hpc");
  for (const Dense kind : {Dense::reduce, Dense::allreduce, Dense::reduce_scatter, Dense::scan, Dense::exscan}) {
    const DenseChoice choice = choose_dense_rule({kind, 0, 64, 8, true, true}, layout, parameters);
    for (const DenseCandidate& candidate : choice.candidates) EXPECT_TRUE(candidate.rule->traits.in_order);
  }
}

TEST(DenseChoice, NamesThatAreNoRulesAreRefused) {
  try {
    (void)find_dense_rule(Dense::scan, "bruck");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "unknown rule 'bruck' for scan; valid are auto, recursive_doubling, linear, node_aware, one_hop");
  }
}

}  // namespace
}  // namespace laneway::dense_choice
