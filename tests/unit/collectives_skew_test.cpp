#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective/choice.hpp"
#include "dense_calls.hpp"

// All-to-alls in which one rank has a few long blocks: its node sends them by all its ranks, and the other one receives
// them so. Chosen where the model gains.

namespace laneway::skew {
namespace {

constexpr std::int64_t long_block = 1 << 20;
constexpr std::int64_t short_block = 64;

/// From rank 0 to all ranks of the last node.
std::int64_t block(const Layout& layout, Rank from, Rank to) {
  return from == 0 && layout.region(to) == layout.regions() - 1 ? long_block : short_block;
}

std::vector<Plan> plans_of(const Layout& layout, const DenseRule& rule) {
  cases::DenseCase c;
  c.layout = layout;
  c.equal = false;
  cases::Random random(1);
  const cases::BlockMaker maker(random, true, 1);
  const auto n = static_cast<std::size_t>(layout.ranks());
  std::vector counts(n, std::vector<std::int64_t>(n));
  for (Rank from = 0; from < layout.ranks(); ++from)
    for (Rank to = 0; to < layout.ranks(); ++to)
      counts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = block(layout, from, to);
  for (Rank rank = 0; rank < layout.ranks(); ++rank) {
    DenseCall& call = c.calls.emplace_back();
    call.kind = Dense::alltoall;
    call.rank = rank;
    cases::make_moving_call(c, call, maker, counts);
  }
  return cases::plans_of(c, rule);
}

/// Between nodes, by the rank that sends or receives most.
std::int64_t most_bytes(const std::vector<Plan>& plans, const Layout& layout, StepKind kind) {
  std::int64_t most = 0;
  for (const Plan& plan : plans) {
    std::int64_t bytes = 0;
    for (const Step& step : plan.steps)
      if (step.kind == kind && layout.region(step.peer) != layout.region(plan.rank)) bytes += step.span.bytes;
    most = std::max(most, bytes);
  }
  return most;
}

TEST(Skew, AllRanksOfBothNodesMoveTheLongBlocks) {
  for (const std::vector<Rank>& nodes : std::vector<std::vector<Rank>>{{4, 4, 4, 4}, {8, 8}, {5, 3, 8}}) {
    const Layout layout = cases::layout_of(nodes);
    const std::int64_t members = layout.size(layout.regions() - 1);
    const std::int64_t pieces = std::min<std::int64_t>(members, layout.size(0));
    const std::vector<Plan> split = plans_of(layout, find_dense_rule(Dense::alltoall, "split"));
    const std::vector<Plan> direct = plans_of(layout, find_dense_rule(Dense::alltoall, "nonblocking"));
    const std::int64_t shorts = layout.ranks() * layout.largest() * short_block;
    EXPECT_GE(most_bytes(direct, layout, StepKind::send), members * long_block);
    for (const StepKind kind : {StepKind::send, StepKind::receive})
      EXPECT_LE(most_bytes(split, layout, kind), members * long_block / pieces + shorts);
  }
}

DenseFacts facts_of(const Layout& layout) {
  DenseFacts facts{Dense::alltoall, 0, 0, 1, false, false};
  std::int64_t all = 0;
  for (Rank from = 0; from < layout.ranks(); ++from)
    for (Rank to = 0; to < layout.ranks(); ++to) all += block(layout, from, to);
  facts.bytes = all / (std::int64_t{layout.ranks()} * layout.ranks());
  facts.of_busiest_rank = layout.size(layout.regions() - 1) * long_block;
  facts.of_busiest_node = facts.of_busiest_rank;
  return facts;
}

double seconds_of(const DenseChoice& choice, std::string_view name) {
  return std::ranges::find(choice.candidates, name, [](const DenseCandidate& c) { return c.rule->name; })->seconds;
}

/// On nodes whose network devices one rank cannot keep busy; nowhere else, since ranks hand data over for it.
TEST(Skew, CostsChooseToSplit) {
  const Layout layout = cases::layout_of(std::vector<Rank>(8, 16));
  const auto chosen = [&](const char* machine) {
    return choose_dense_rule(facts_of(layout), layout, Parameters::read(machine), {}, OnNode::memory);
  };
  const DenseChoice split = chosen("frontier-like");
  EXPECT_EQ(split.rule->name, "split") << split.reason;
  EXPECT_LE(split.seconds, 0.9 * seconds_of(split, "nonblocking"));
  for (const char* machine : {"lassen", "default-hpc"}) {
    const DenseChoice choice = chosen(machine);
    EXPECT_LE(choice.seconds, seconds_of(choice, "split")) << choice.reason;
    EXPECT_NE(choice.rule->name, "split") << choice.reason;
  }
}

/// Where one link takes all that a node sends, ranks have nothing to share.
TEST(Skew, NothingIsSplitWhereOneLinkIsBusy) {
  const Layout layout = cases::layout_of({4, 4, 4, 4});
  const DenseChoice choice =
      choose_dense_rule(facts_of(layout), layout, Parameters::read("cluster-4x4-200mbit"), {}, OnNode::messages);
  EXPECT_LE(choice.seconds, seconds_of(choice, "split")) << choice.reason;
}

}  // namespace
}  // namespace laneway::skew
