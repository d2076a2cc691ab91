#include "data/traffic.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "base/error.hpp"
#include "matrix/generators.hpp"

namespace laneway::bench {
namespace {

Nodes two_nodes(Rank ranks) {
  return make_nodes(Machine::parse("node:2 rank:" + std::to_string(ranks / 2), ranks), "");
}

TEST(Traffic, CompleteGraphOnTwoNodes) {
  const Workload workload{"rsg:density=1", Op::allgather, 100, 6, nullptr};
  const Nodes nodes = two_nodes(6);
  const Demand allgather = demand(workload.exchanges(), nodes);
  EXPECT_EQ(allgather.busiest_bytes(), 300);
  EXPECT_DOUBLE_EQ(allgather.byte_ceiling(), 3);

  const RankTraffic own = traffic(messages(workload.exchange(0)), 0, nodes);
  EXPECT_EQ(own.net_messages, 3);
  EXPECT_EQ(own.net_bytes, 300);
  EXPECT_EQ(own.node_messages, 2);
  EXPECT_EQ(own.node_bytes, 200);

  const Workload separate{"rsg:density=1", Op::alltoallv, 100, 6, nullptr};
  EXPECT_DOUBLE_EQ(demand(separate.exchanges(), nodes).byte_ceiling(), 1);
}

TEST(Traffic, CrossingsOfARankAndOfAllNodes) {
  const Workload workload{"rsg:density=1", Op::allgather, 100, 6, nullptr};
  const Nodes nodes = two_nodes(6);
  EXPECT_EQ(crossings(workload.exchange(4), 4, nodes), (std::vector<Crossing>{{3, 300, 100}, {}}));
  Demand all = demand(workload.exchanges(), nodes);
  EXPECT_EQ(all.total, (Crossing{18, 1800, 600}));
  EXPECT_EQ(all.out_max, (Crossing{9, 900, 300}));
  EXPECT_EQ(all.in_max, all.out_max);
  all += demand(Workload{"rsg:density=1", Op::alltoallv, 100, 6, nullptr}.exchanges(), nodes);
  EXPECT_EQ(all.busiest_bytes(), 1200);
  EXPECT_DOUBLE_EQ(all.byte_ceiling(), 1.5);
}

TEST(Traffic, BytesByNodeIncludeTheOwnNode) {
  const Nodes nodes = make_nodes(std::vector<Rank>{7, 7, 2});
  EXPECT_EQ(nodes.description, "ranks:2,1");
  EXPECT_EQ(bytes_by_node(std::vector<Message>{{1, 5}, {2, 6}, {2, 1}}, nodes), (std::vector<std::int64_t>{5, 7}));
}

TEST(Traffic, NodesOutOfOrderHaveNoDescriptionOfSizes) {
  EXPECT_EQ(make_nodes(std::vector<Rank>{0, 1, 0}).description, "2 nodes, ranks not in order");
}

TEST(Exchange, LabelsOfBothSidesAgree) {
  const auto matrix = std::make_shared<matrix::Csr>(matrix::generate("9pt:nx=9,ny=7"));
  for (const Workload& workload : {Workload{"rsg:density=0.5,seed=4", Op::allgather, 8, 5, nullptr},
                                   Workload{"moore:d=2,r=1", Op::alltoallv, 8, 6, nullptr},
                                   Workload{"matrix:9pt:nx=9,ny=7", Op::alltoallv, 8, 5, matrix},
                                   Workload{"matrix:9pt:nx=9,ny=7", Op::allgather, 8, 5, matrix},
                                   Workload{"rsg:density=0.7,seed=1", Op::allgatherv, 12, 6, nullptr, {{0, 4}, 30}},
                                   Workload{"rsg:density=0.7,seed=1", Op::alltoallv, 12, 6, nullptr, {{0, 4}, 30}}}) {
    const std::vector<Exchange> all = workload.exchanges();
    Pattern pattern;
    for (Rank rank = 0; rank < workload.ranks; ++rank) {
      const Exchange& receiver = all[static_cast<std::size_t>(rank)];
      EXPECT_EQ(to_pattern(receiver), to_pattern(workload.exchange(rank)));
      pattern.push_back(to_pattern(receiver));
      for (std::size_t k = 0; k < receiver.receive.peers.size(); ++k) {
        const Exchange& sender = all[static_cast<std::size_t>(receiver.receive.peers[k])];
        const auto out =
            std::find(sender.send.peers.begin(), sender.send.peers.end(), rank) - sender.send.peers.begin();
        const auto from = sender.send.edges()[static_cast<std::size_t>(out)];
        const auto to = receiver.receive.edges()[k];
        ASSERT_EQ(from.size(), to.size());
        for (std::size_t i = 0; i < from.size(); ++i)
          EXPECT_EQ(sender.send.labels[static_cast<std::size_t>(from[i])],
                    receiver.receive.labels[static_cast<std::size_t>(to[i])]);
      }
    }
    check_matched(pattern);
  }
}

TEST(Exchange, HeavyRanksSendLargerBlocks) {
  const Workload gathered{"rsg:density=1", Op::allgatherv, 8, 4, nullptr, {{0, 2}, 100}};
  EXPECT_EQ(gathered.description(), "allgatherv, rsg:density=1, 8 B an edge, 100 B from ranks 0,2");
  const RankPattern heavy = to_pattern(gathered.exchange(2));
  EXPECT_EQ(heavy.out[0], (Edge{0, {{0, 100}}}));
  EXPECT_EQ(heavy.out[2], (Edge{3, {{0, 100}}}));
  EXPECT_EQ(heavy.in[0], (Edge{0, {{0, 100}}}));
  EXPECT_EQ(heavy.in[1], (Edge{1, {{100, 8}}}));
  EXPECT_EQ(to_pattern(gathered.exchange(1)).in[1], (Edge{2, {{100, 100}}}));
  EXPECT_EQ(demand(gathered.exchanges(), two_nodes(4)).busiest_bytes(), 108);

  const Workload separate{"rsg:density=1", Op::alltoallv, 8, 4, nullptr, {{0, 2}, 100}};
  EXPECT_EQ(to_pattern(separate.exchange(2)).out[1], (Edge{1, {{100, 100}}}));
  EXPECT_EQ(demand(separate.exchanges(), two_nodes(4)).busiest_bytes(), 216);
}

TEST(Exchange, HeavyRanksMustBePossible) {
  const auto matrix = std::make_shared<matrix::Csr>(matrix::generate("9pt:nx=9,ny=7"));
  const auto check = [&](Op op, Rank heavy, const std::shared_ptr<matrix::Csr>& of = nullptr) {
    Workload{"rsg:density=1", op, 8, 4, of, {{heavy}, 100}}.check();
  };
  EXPECT_NO_THROW(check(Op::allgatherv, 3));
  EXPECT_NO_THROW(check(Op::allgatherv, 3, matrix));
  EXPECT_THROW(check(Op::allgather, 3), Error);
  EXPECT_THROW(check(Op::alltoallv, 4), Error);
  EXPECT_THROW(check(Op::alltoallv, -1), Error);
  EXPECT_THROW(check(Op::alltoallv, 3, matrix), Error);
}

TEST(Exchange, ValuesDependOnLabelAndSalt) {
  const std::vector<std::uint64_t> labels = {1, 2};
  std::vector<std::byte> a(22), b(22), c(22);
  fill(a, labels, Content::bits, 1);
  fill(b, labels, Content::bits, 1);
  fill(c, labels, Content::bits, 2);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(std::vector<std::byte>(a.begin(), a.begin() + 11), std::vector<std::byte>(a.begin() + 11, a.end()));
}

}  // namespace
}  // namespace laneway::bench
