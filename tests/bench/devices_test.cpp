#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "data/exchange.hpp"
#include "offline/random_graphs.hpp"

namespace laneway::bench {
namespace {

/// Two nodes of six ranks with two devices each.
Workload of_devices(int processes, std::int64_t bytes = 12) {
  Workload workload{"nodes:size=2,to=1,messages=6", Op::alltoallv, bytes, 12};
  workload.devices = {.of_node = 2, .processes = processes, .node_ranks = 6};
  return workload;
}

std::string error_of(const Workload& workload) {
  try {
    workload.check();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Devices, TheirHostProcessesHaveTheData) {
  const Workload workload = of_devices(1);
  workload.check();
  for (Rank rank = 0; rank < 12; ++rank) {
    const Exchange exchange = workload.exchange(rank);
    if (rank % 3 != 0) {
      EXPECT_TRUE(exchange.send.peers.empty() && exchange.receive.peers.empty()) << rank;
      EXPECT_EQ(exchange.send_bytes() + exchange.receive_bytes(), 0U) << rank;
      continue;
    }
    std::vector<Rank> expected = neighborhood(workload.pattern, rank / 3, 4).destinations;
    for (Rank& peer : expected) peer *= 3;
    EXPECT_EQ(exchange.send.peers, expected) << rank;
    EXPECT_EQ(exchange.send_bytes(), 12 * expected.size()) << rank;
  }
}

TEST(Devices, SeveralProcessesHaveEqualPartsOfEachElement) {
  const Workload whole = of_devices(1);
  const Workload parts = of_devices(3);
  parts.check();
  for (Rank device = 0; device < 4; ++device)
    for (Rank process = 0; process < 3; ++process) {
      const Exchange own = parts.exchange(device * 3 + process);
      const Exchange all = whole.exchange(device * 3);
      EXPECT_EQ(own.element_bytes, 4);
      EXPECT_EQ(own.send.counts, all.send.counts);
      ASSERT_EQ(own.send.peers.size(), all.send.peers.size());
      for (std::size_t k = 0; k < own.send.peers.size(); ++k) EXPECT_EQ(own.send.peers[k], all.send.peers[k] + process);
    }
  const auto labels = [&](Rank rank) { return parts.exchange(rank).send.labels; };
  EXPECT_NE(labels(0), labels(1));
  EXPECT_EQ(parts.exchanges().size(), 12U);
}

TEST(Devices, MustFit) {
  EXPECT_EQ(error_of(of_devices(4)),
            "data of 2 devices a node, 4 host processes each: 6 ranks of a node cannot be their hosts");
  EXPECT_EQ(error_of(of_devices(3, 8)),
            "data of 2 devices a node, 3 host processes each: 8 bytes cannot be divided by them");
  Workload heavy = of_devices(1);
  heavy.heavy = {{0}, 8};
  EXPECT_EQ(error_of(heavy), "there are no heavy ranks where the data is in devices");
}

}  // namespace
}  // namespace laneway::bench
