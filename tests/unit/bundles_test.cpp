#include "algorithms/collective/bundles.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace laneway::bundles {
namespace {

/// Even and uneven nodes, in order and dealt.
const std::vector<std::vector<Rank>> placements = {
    {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
    {0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2},
    {0, 1, 2, 0, 1, 2, 0, 1, 0},
    {0, 1, 1},
    {0, 0, 0, 0, 0, 0, 0, 0, 1, 2},
};

TEST(Bundles, EachDestinationIsInOneLane) {
  for (Rank members = 1; members < 12; ++members)
    for (Rank lanes = 1; lanes <= members; ++lanes) {
      EXPECT_EQ(BundleLanes::first(members, lanes, 0), 0);
      EXPECT_EQ(BundleLanes::first(members, lanes, lanes), members);
      for (Rank index = 0; index < members; ++index) {
        const Rank lane = BundleLanes::lane_of(members, lanes, index);
        EXPECT_LE(BundleLanes::first(members, lanes, lane), index);
        EXPECT_LT(index, BundleLanes::first(members, lanes, lane + 1));
      }
    }
}

/// Both ends, who do not ask each other, see the same lanes, each between two ranks of its own.
TEST(Bundles, BothNodesSeeTheSamePairs) {
  for (const std::vector<Rank>& placement : placements) {
    const Layout layout(placement);
    const BundleLanes bundles(layout, 100);
    for (Rank from = 0; from < layout.regions(); ++from)
      for (Rank to = 0; to < layout.regions(); ++to) {
        if (from == to) continue;
        EXPECT_EQ(BundleLanes(layout, 0).lanes(from, to, 1'000'000), 1);
        EXPECT_EQ(bundles.lanes(from, to, 0), 0);
        EXPECT_EQ(bundles.lanes(from, to, 100), 1);
        EXPECT_EQ(bundles.lanes(from, to, 1'000'000), bundles.most_lanes(from, to));
        std::set<Rank> senders, receivers;
        for (Rank lane = 0; lane < bundles.most_lanes(from, to); ++lane) {
          const Rank sender = bundles.sender(lane, from, to);
          const Rank receiver = bundles.receiver(lane, from, to);
          EXPECT_EQ(layout.region(sender), from);
          EXPECT_EQ(layout.region(receiver), to);
          EXPECT_EQ(bundles.lane_sent_by(layout.index(sender), from, to), lane);
          EXPECT_EQ(bundles.lane_received_by(layout.index(receiver), from, to), lane);
          EXPECT_EQ(layout.member(to, bundles.receiving(lane, from, to)), receiver);
          EXPECT_TRUE(senders.insert(sender).second && receivers.insert(receiver).second);
        }
      }
  }
}

/// The ranks of a node share the bundles of all others.
TEST(Bundles, RanksOfANodeTakeTurns) {
  const std::vector<Rank> placement = placements.front();
  const Layout layout(placement);
  const BundleLanes bundles(layout, 100);
  for (Rank region = 0; region < layout.regions(); ++region) {
    std::set<Rank> senders;
    for (Rank to = 0; to < layout.regions(); ++to)
      if (to != region) senders.insert(bundles.sender(0, region, to));
    EXPECT_EQ(senders.size(), 3U);
  }
}

/// Whatever bytes there are, of blocks of at most one byte each, they fit into what is set aside.
TEST(Bundles, WhatIsSetAsideIsEnough) {
  for (const std::vector<Rank>& placement : placements) {
    const Layout layout(placement);
    for (const std::int64_t lane_bytes : {1, 3, 1000}) {
      const BundleLanes bundles(layout, lane_bytes);
      for (Rank rank = 0; rank < layout.ranks(); ++rank) {
        std::int64_t received = 0;
        std::int64_t sent = 0;
        for (Rank other = 0; other < layout.regions(); ++other) {
          const Rank home = layout.region(rank);
          if (other == home) continue;
          const auto moved = [&](Rank from, Rank to, Rank lane) {
            const Rank lanes = bundles.lanes(from, to, std::int64_t{layout.size(from)} * layout.size(to));
            if (lane >= lanes) return std::int64_t{0};
            const Rank members = layout.size(to);
            return std::int64_t{layout.size(from)} *
                   (BundleLanes::first(members, lanes, lane + 1) - BundleLanes::first(members, lanes, lane));
          };
          received += moved(other, home, bundles.lane_received_by(layout.index(rank), other, home));
          sent += moved(home, other, bundles.lane_sent_by(layout.index(rank), home, other));
        }
        EXPECT_LE(received, bundles.most_received(rank));
        EXPECT_LE(sent, bundles.most_sent(rank));
      }
    }
  }
}

TEST(Bundles, BlocksAreShortThatCostLessToCopyThanAMessage) {
  Parameters parameters;
  EXPECT_EQ(longest_in_bundle(parameters, 4, 5000), 5000);  // nothing is known
  parameters.network_overhead.message = 1e-6;
  parameters.copies = {{1, 1e-10}};
  EXPECT_NEAR(static_cast<double>(longest_in_bundle(parameters, 4, 5000)), 3333, 1);
  parameters.injection_short = LinearCost{1e-7, 0};
  EXPECT_NEAR(static_cast<double>(longest_in_bundle(parameters, 4, 5000)), 4666, 1);
  EXPECT_EQ(longest_in_bundle(parameters, 4, 1000), 1000);
}

/// On one node: what MPI hands over at once is longer in memory, and what it agrees on first may not be.
TEST(Bundles, OnOneNodeAMessageCostsItsLatency) {
  Parameters parameters;
  EXPECT_EQ(longest_in_memory(parameters, 4, 5000), 5000);  // nothing is known
  parameters.copies = {{1, 1e-10}};
  LinkCost& link = parameters.links[static_cast<std::size_t>(LinkClass::node)];
  link.protocols = {{"eager", 3000, 1e-7, 1e-10}};
  link.protocols.push_back({"rendezvous", -1, 2e-6, 1e-10});
  EXPECT_EQ(longest_in_memory(parameters, 4, 16384), 16384);
  link.protocols.back().alpha = 8e-7;
  EXPECT_NEAR(static_cast<double>(longest_in_memory(parameters, 4, 16384)), 8000, 1);
  link.protocols.back().alpha = 2e-7;
  EXPECT_NEAR(static_cast<double>(longest_in_memory(parameters, 4, 16384)), 1000, 1);
}

}  // namespace
}  // namespace laneway::bundles
