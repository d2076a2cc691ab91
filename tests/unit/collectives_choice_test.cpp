#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "collectives/choice.hpp"
#include "core/error.hpp"
#include "dense_calls.hpp"

namespace laneway::dense_choice {
namespace {

constexpr std::int64_t block = 4096;

/// What plans do, counted.
struct Counted {
  double network_messages = 0;  ///< of the rank that has most
  double network_bytes = 0;
  double injected_bytes = 0;  ///< of the node that sends most, or receives most
};

DenseCall equal_call(Dense kind, Rank rank, Rank ranks) {
  DenseCall call;
  call.kind = kind;
  call.rank = rank;
  call.sizes = Sizes::equal(block);
  const std::int64_t part = kind == Dense::reduce_scatter ? block / ranks : block;
  call.send = call.receive = Blocks::contiguous(part);
  if (reduces(kind)) call.combination = {"sum", "number", 8, false};
  return call;
}

Counted count(const DenseRule& rule, const Layout& layout, const DenseSettings& settings) {
  Counted most;
  std::vector<double> left(static_cast<std::size_t>(layout.regions()), 0);
  std::vector<double> entered = left;
  for (Rank rank = 0; rank < layout.ranks(); ++rank) {
    Counted own[2];  // sent, received
    const Plan plan = make_dense_plan(rule, equal_call(rule.kind, rank, layout.ranks()), layout, settings);
    for (const Step& step : plan.steps) {
      if (step.kind != StepKind::send && step.kind != StepKind::receive) continue;
      if (layout.region(step.peer) == layout.region(rank)) continue;
      Counted& way = own[step.kind == StepKind::send ? 0 : 1];
      way.network_messages += 1;
      way.network_bytes += static_cast<double>(step.span.bytes);
    }
    left[static_cast<std::size_t>(layout.region(rank))] += own[0].network_bytes;
    entered[static_cast<std::size_t>(layout.region(rank))] += own[1].network_bytes;
    for (const Counted& way : own) {
      most.network_messages = std::max(most.network_messages, way.network_messages);
      most.network_bytes = std::max(most.network_bytes, way.network_bytes);
    }
  }
  most.injected_bytes = std::max(*std::ranges::max_element(left), *std::ranges::max_element(entered));
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
    const DenseCost cost = rule.cost(facts, layout, settings);
    const Counted counted = count(rule, layout, settings);
    const std::string what =
        std::string(name(rule.kind)) + " " + std::string(rule.name) + ": " + std::to_string(counted.network_messages) +
        " messages, " + std::to_string(counted.network_bytes) + " bytes, " + std::to_string(counted.injected_bytes) +
        " injected; said are " + std::to_string(cost.network_messages) + ", " + std::to_string(cost.network_bytes) +
        ", " + std::to_string(cost.injected_bytes);
    const bool is_chain =
        rule.name == "chain" || rule.name == "linear" || (rule.kind == Dense::reduce && rule.name == "ordered");
    const double way = is_chain ? layout.regions() - 1 : 0;
    EXPECT_NEAR(cost.network_messages, counted.network_messages, 0.25 * counted.network_messages + 0.5 + way) << what;
    EXPECT_NEAR(cost.network_bytes, counted.network_bytes, 0.25 * counted.network_bytes + way * block) << what;
    EXPECT_NEAR(cost.injected_bytes, counted.injected_bytes, 0.35 * counted.injected_bytes) << what;
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
    EXPECT_STREQ(error.what(), "unknown rule 'bruck' for scan; valid are auto, recursive_doubling, linear, node_aware");
  }
}

}  // namespace
}  // namespace laneway::dense_choice
