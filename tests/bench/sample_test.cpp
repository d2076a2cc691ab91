#include "data/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace laneway::bench {
namespace {

TEST(Sample, HasTheBusiestTheFirstAndTheLastNode) {
  constexpr Rank ranks = 60;
  const Nodes nodes = make_nodes(Machine::parse("node:20 rank:3", ranks), "");
  // A line of nodes, of which one sends more; ranks have two peers on other nodes unless their node is at an end.
  const Workload workload{"stencil:points=5,dims=20x3", Op::allgatherv, 100, ranks, nullptr, {{37}, 1000}};
  EXPECT_EQ(sample_nodes(workload, nodes, 1, 1), (std::vector<int>{12}));
  EXPECT_EQ(sample_nodes(workload, nodes, 4, 1), (std::vector<int>{0, 1, 12, 19}));
  const std::vector<int> six = sample_nodes(workload, nodes, 6, 1);
  EXPECT_EQ(six.size(), 6U);
  EXPECT_TRUE(std::is_sorted(six.begin(), six.end()));
  for (const int node : {0, 1, 12, 19}) EXPECT_TRUE(std::binary_search(six.begin(), six.end(), node));
  EXPECT_EQ(sample_nodes(workload, nodes, 6, 1), six);
  EXPECT_NE(sample_nodes(workload, nodes, 6, 2), six);
  EXPECT_EQ(sample_nodes(workload, nodes, 99, 1).size(), 20U);
  EXPECT_EQ(ranks_of_nodes(std::vector<int>{0, 12}, nodes), (std::vector<Rank>{0, 1, 2, 36, 37, 38}));
}

}  // namespace
}  // namespace laneway::bench
