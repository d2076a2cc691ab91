#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "algorithms/collective/rules.hpp"

namespace laneway::one_hop {
namespace {

const std::vector<std::vector<Rank>> placements = {
    {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
    {0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2},
    {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4},
    {0, 0, 1, 2, 3, 4, 5, 6, 7},
    {0, 0, 0, 0},
};

DenseCall call_of(Dense kind, Rank rank, Rank root) {
  DenseCall call;
  call.kind = kind;
  call.rank = rank;
  call.root = root;
  call.send = call.receive = Blocks::contiguous(kind == Dense::barrier ? 1 : 64);
  call.sizes = Sizes::equal(64);
  if (reduces(kind)) call.combination = {"sum", "number", 8, false};
  return call;
}

/// Messages of each rank to other nodes.
std::vector<std::vector<Rank>> sent_between(Dense kind, const Layout& layout, Rank root) {
  std::vector<std::vector<Rank>> sent(static_cast<std::size_t>(layout.ranks()));
  const DenseRule& rule = find_dense_rule(kind, "one_hop");
  for (Rank rank = 0; rank < layout.ranks(); ++rank)
    for (const Step& step : make_dense_plan(rule, call_of(kind, rank, root), layout).steps)
      if (step.kind == StepKind::send && layout.region(step.peer) != layout.region(rank))
        sent[static_cast<std::size_t>(rank)].push_back(step.peer);
  return sent;
}

/// Each node gets the data from the root's node, or sends to it, and no rank there has more than its share.
TEST(OneHop, DataCrossesOnceBetweenNodes) {
  for (const std::vector<Rank>& placement : placements) {
    const Layout layout(placement);
    for (Rank root = 0; root < layout.ranks(); ++root) {
      const Rank home = layout.region(root);
      const int share = (layout.regions() - 1 + layout.size(home) - 1) / layout.size(home);
      for (const Dense kind : {Dense::bcast, Dense::reduce, Dense::scatter, Dense::gather}) {
        SCOPED_TRACE(std::string(name(kind)) + " root " + std::to_string(root));
        const std::vector<std::vector<Rank>> sent = sent_between(kind, layout, root);
        std::vector<int> of_region(static_cast<std::size_t>(layout.regions()), 0);
        std::vector<int> of_home(sent.size(), 0);
        for (Rank rank = 0; rank < layout.ranks(); ++rank)
          for (const Rank peer : sent[static_cast<std::size_t>(rank)]) {
            const bool is_down = kind == Dense::bcast || kind == Dense::scatter;
            const Rank inner = is_down ? rank : peer;
            const Rank outer = is_down ? peer : rank;
            EXPECT_EQ(layout.region(inner), home);
            ++of_home[static_cast<std::size_t>(inner)];
            ++of_region[static_cast<std::size_t>(layout.region(outer))];
          }
        for (Rank region = 0; region < layout.regions(); ++region)
          EXPECT_EQ(of_region[static_cast<std::size_t>(region)], region == home ? 0 : 1);
        EXPECT_LE(*std::ranges::max_element(of_home), share);
        EXPECT_EQ(of_home[static_cast<std::size_t>(root)], (layout.regions() - 1) / layout.size(home));
      }
    }
  }
}

/// The sum of a node goes to each node after it, from all its ranks and to all theirs.
TEST(OneHop, SumsOfScansCrossOnce) {
  for (const std::vector<Rank>& placement : placements) {
    const Layout layout(placement);
    if (layout.placement() != Layout::Placement::blocks) continue;
    for (const Dense kind : {Dense::scan, Dense::exscan}) {
      const std::vector<std::vector<Rank>> sent = sent_between(kind, layout, 0);
      const auto nodes = static_cast<std::size_t>(layout.regions());
      std::vector<std::vector<int>> messages(nodes, std::vector<int>(nodes, 0));
      std::vector<std::size_t> received(sent.size(), 0);
      for (Rank rank = 0; rank < layout.ranks(); ++rank) {
        const std::vector<Rank>& mine = sent[static_cast<std::size_t>(rank)];
        const auto home = static_cast<std::size_t>(layout.region(rank));
        const auto members = static_cast<std::size_t>(layout.size(layout.region(rank)));
        EXPECT_LE(mine.size(), (nodes - home - 1 + members - 1) / members);
        for (const Rank peer : mine) {
          ++messages[home][static_cast<std::size_t>(layout.region(peer))];
          ++received[static_cast<std::size_t>(peer)];
        }
      }
      for (std::size_t from = 0; from < nodes; ++from)
        for (std::size_t to = 0; to < nodes; ++to) EXPECT_EQ(messages[from][to], from < to ? 1 : 0);
      for (Rank rank = 0; rank < layout.ranks(); ++rank) {
        const auto before = static_cast<std::size_t>(layout.region(rank));
        const auto members = static_cast<std::size_t>(layout.size(layout.region(rank)));
        EXPECT_LE(received[static_cast<std::size_t>(rank)], (before + members - 1) / members);
      }
    }
  }
}

/// A leader reaches as many nodes in a round as its own has ranks.
TEST(OneHop, LeadersTellAllOthersAtOnce) {
  for (const std::vector<Rank>& placement : placements) {
    const Layout layout(placement);
    const std::vector<std::vector<Rank>> sent = sent_between(Dense::barrier, layout, 0);
    const Rank nodes = layout.regions();
    const bool is_one_round = nodes <= layout.largest() + 1;
    for (Rank rank = 0; rank < layout.ranks(); ++rank) {
      const std::size_t messages = sent[static_cast<std::size_t>(rank)].size();
      const bool leads = layout.index(rank) == 0;
      if (is_one_round)
        EXPECT_EQ(messages, leads ? static_cast<std::size_t>(nodes - 1) : 0);
      else
        EXPECT_LE(messages, leads ? static_cast<std::size_t>(2 * layout.largest()) : 0);
    }
  }
}

}  // namespace
}  // namespace laneway::one_hop
