#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "dense_calls.hpp"

// What the talks of CUP-ECS say of their algorithms: who sends to whom, and what is under way at once.

namespace laneway::talks {
namespace {

constexpr std::int64_t block = 64;

DenseCall call_of(Dense kind, Rank rank) {
  DenseCall call;
  call.kind = kind;
  call.rank = rank;
  call.send = call.receive = Blocks::contiguous(block);
  call.sizes = Sizes::equal(block);
  if (reduces(kind)) call.combination = {"sum", "number", 8, false};
  return call;
}

bool crosses(const Layout& layout, Rank rank, const Step& step) {
  return (step.kind == StepKind::send || step.kind == StepKind::receive) &&
         layout.region(step.peer) != layout.region(rank);
}

/// "Locality-Aware Allreduce": MPI_Allreduce on node, then only with corresponding ranks on each other node.
TEST(Talks, RanksAllreduceInTheNodeAndThenWithTheirPeers) {
  const DenseRule& rule = find_dense_rule(Dense::allreduce, "locality_peers");
  for (const std::vector<Rank>& sizes : std::vector<std::vector<Rank>>{{4, 4, 4, 4}, {3, 3, 3}, {3, 1, 4}, {5, 3, 8}}) {
    const Layout layout = cases::layout_of(sizes);
    for (Rank rank = 0; rank < layout.ranks(); ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " of " + std::to_string(layout.ranks()));
      const Rank index = layout.index(rank);
      const bool has_peers = index < layout.smallest();
      int between = 0;
      int given = 0;   // to this rank inside, beyond an allreduce
      int handed = 0;  // inside, after what was between nodes
      for (const Step& step : make_dense_plan(rule, call_of(Dense::allreduce, rank), layout).steps) {
        if (step.kind != StepKind::send && step.kind != StepKind::receive) continue;
        EXPECT_EQ(step.span.bytes, block) << "the whole vector";
        given += layout.index(step.peer) >= layout.smallest() && step.kind == StepKind::receive ? 1 : 0;
        if (crosses(layout, rank, step)) {
          ++between;
          EXPECT_EQ(layout.index(step.peer), index);
        } else if (between > 0) {
          ++handed;
          EXPECT_EQ(step.kind, StepKind::send);
          EXPECT_EQ(layout.index(step.peer) % layout.smallest(), index);
        }
      }
      EXPECT_EQ(between > 0, has_peers);
      const Rank node = layout.size(layout.region(rank));
      EXPECT_EQ(handed, has_peers ? (node - 1 - index) / layout.smallest() : 0);
      EXPECT_EQ(given, handed) << "who has no peers combines nothing";
    }
  }
}

/// Whether the messages that a rank sends to other nodes follow each other.
bool is_in_turn(const Plan& plan, const Layout& layout) {
  std::vector<std::set<int>> before(plan.steps.size());  // messages to other nodes, of each step
  std::set<int> sent;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (const int earlier : plan.steps[i].after)
      before[i].insert(before[static_cast<std::size_t>(earlier)].begin(),
                       before[static_cast<std::size_t>(earlier)].end());
    if (plan.steps[i].kind != StepKind::send || !crosses(layout, plan.rank, plan.steps[i])) continue;
    if (!std::ranges::includes(before[i], sent)) return false;
    sent.insert(static_cast<int>(i));
    before[i].insert(static_cast<int>(i));
  }
  return true;
}

std::vector<std::tuple<StepKind, Rank, std::int64_t>> messages_of(const Plan& plan) {
  std::vector<std::tuple<StepKind, Rank, std::int64_t>> messages;
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::send || step.kind == StepKind::receive)
      messages.emplace_back(step.kind, step.peer, step.span.bytes);
  std::ranges::sort(messages);
  return messages;
}

/// "Solid: Pairwise; Dotted: Nonblocking" of the figures on Dane: the same messages, one after another or at once.
TEST(Talks, PairwiseExchangesOfAllToAllsHaveTheSameMessagesInTurn) {
  int pairs = 0;
  for (const DenseRule& rule : dense_rules()) {
    const std::string name(rule.name);
    if (rule.kind != Dense::alltoall || !name.ends_with("_pairwise")) continue;
    ++pairs;
    const DenseRule& at_once = find_dense_rule(Dense::alltoall, name.substr(0, name.find("_pairwise")));
    for (const std::vector<Rank>& sizes : std::vector<std::vector<Rank>>{{4, 4, 4, 4}, {5, 3, 8}, {2, 1, 2, 2, 3}}) {
      const Layout layout = cases::layout_of(sizes);
      DenseSettings settings;
      settings.leaders = 2;
      bool differs = false;
      for (Rank rank = 0; rank < layout.ranks(); ++rank) {
        const DenseCall call = call_of(Dense::alltoall, rank);
        const Plan in_turn = make_dense_plan(rule, call, layout, settings);
        const Plan together = make_dense_plan(at_once, call, layout, settings);
        EXPECT_EQ(messages_of(in_turn), messages_of(together)) << name << ", rank " << rank;
        EXPECT_TRUE(is_in_turn(in_turn, layout)) << name << ", rank " << rank;
        differs = differs || !is_in_turn(together, layout);
      }
      EXPECT_TRUE(differs) << name;
    }
  }
  EXPECT_EQ(pairs, 5);
}

}  // namespace
}  // namespace laneway::talks
