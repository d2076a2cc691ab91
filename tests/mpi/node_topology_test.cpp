// What ranks find out about their node: how far networks are, which devices are whose, and what joins them.
#include <hwloc.h>

#include <algorithm>
#include <vector>

#include "communicator/communicator.hpp"
#include "communicator/nodes/network_distance.hpp"
#include "device_memory.hpp"
#include "laneway/sim_device.h"
#include "plan/plan.hpp"
#include "runtime/device/device.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class NodeTopology : public MpiTest {};

/// Two packages with two NUMA nodes each. An InfiniBand interface shares a switch with one of two devices in the first
/// NUMA node; the others are in the second, and in the fourth beside an Ethernet interface.
class RecordedNode {
 public:
  RecordedNode() {
    hwloc_topology_init(&topology_);
    hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    EXPECT_EQ(hwloc_topology_set_xml(topology_, RECORDED_NODE), 0);
    EXPECT_EQ(hwloc_topology_load(topology_), 0);
  }
  ~RecordedNode() { hwloc_topology_destroy(topology_); }
  RecordedNode(const RecordedNode&) = delete;
  RecordedNode& operator=(const RecordedNode&) = delete;

  [[nodiscard]] std::optional<NetworkDistance> from_device(int bus) const {
    lnw_device_info device{};
    device.pci_bus = bus;
    return distance_to_network(topology_, device);
  }
  [[nodiscard]] std::optional<NetworkDistance> from_processors(unsigned first, int last) const {
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(set, first, last);
    const std::optional<NetworkDistance> distance = distance_to_network(topology_, set);
    hwloc_bitmap_free(set);
    return distance;
  }

 private:
  hwloc_topology_t topology_ = nullptr;
};

TEST_F(NodeTopology, DistancesToTheNearestNetworkInterface) {
  const RecordedNode node;
  EXPECT_EQ(node.from_device(0x02), NetworkDistance::same_switch);
  EXPECT_EQ(node.from_device(0x05), NetworkDistance::same_numa_node);
  EXPECT_EQ(node.from_device(0x41), NetworkDistance::same_package);
  EXPECT_EQ(node.from_device(0xc1), NetworkDistance::same_machine) << "Ethernet does not count beside InfiniBand";
  EXPECT_EQ(node.from_device(0x99), std::nullopt) << "no such device";
  EXPECT_EQ(node.from_device(-1), std::nullopt) << "not on a bus";
  EXPECT_EQ(node.from_processors(1, 1), NetworkDistance::same_numa_node);
  EXPECT_EQ(node.from_processors(0, 3), NetworkDistance::same_package);
  EXPECT_EQ(node.from_processors(2, 2), NetworkDistance::same_package);
  EXPECT_EQ(node.from_processors(5, 6), NetworkDistance::same_machine);
  EXPECT_EQ(node.from_processors(0, 7), NetworkDistance::same_machine) << "not bound";
}

constexpr int devices = 4;  // joined 0 -x4- 1 -x1- 2 -x4- 3
constexpr int bytes = 4000;

/// Each rank has a device of its own, as far as there are enough.
class DevicesOfRanks : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (!uses_devices()) GTEST_SKIP() << "SKIP: no device plugin is loaded";
    const auto* const sim =
        static_cast<const lnw_sim_device*>(device_plugins().front()->extension(LNW_SIM_DEVICE_EXTENSION));
    ASSERT_NE(sim, nullptr);
    ASSERT_EQ(all_devices().size(), std::size_t{devices});
    sim->set_device(rank() % devices);
    graph_ = make_graph(MPI_COMM_WORLD, complete_shape(size()));
    int sources = 0, destinations = 0, weighted = 0;
    MPI_Dist_graph_neighbors_count(graph_.get(), &sources, &destinations, &weighted);
    sources_.resize(static_cast<std::size_t>(sources));
    std::vector<int> others(static_cast<std::size_t>(destinations));
    MPI_Dist_graph_neighbors(graph_.get(), sources, sources_.data(), MPI_UNWEIGHTED, destinations, others.data(),
                             MPI_UNWEIGHTED);
  }

  [[nodiscard]] static std::vector<unsigned char> sent(int from) {
    std::vector<unsigned char> data(bytes);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<unsigned char>(static_cast<std::size_t>(from) * 37 + i % 251);
    return data;
  }

  /// One allgather from device to device; the request's plan.
  Plan exchange(const Hints& hints, Mirror::Kind kind = Mirror::Kind::device) {
    const Mirror send(kind, bytes), receive(kind, bytes * sources_.size() + 1);
    send.write(sent(rank()));
    const Info info(hints);
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE, graph_.get(),
                                           info.get(), &request));
    Plan plan = plan_from_json(plan_text(request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Request_free(&request));
    std::vector<unsigned char> received(bytes * sources_.size() + 1), expected;
    receive.read(received);
    received.pop_back();
    for (const int source : sources_) {
      const std::vector<unsigned char> block = sent(source);
      expected.insert(expected.end(), block.begin(), block.end());
    }
    EXPECT_EQ(received, expected);
    return plan;
  }

  Comm graph_;
  std::vector<int> sources_;
};

TEST_F(DevicesOfRanks, LinksAreFoundAndUsed) {
  for (const char* const strategy : {"leader_scatter", "multi_path", "node:three_step,gpu:direct"})
    (void)exchange({{"lnw_strategy", strategy}});
  const std::optional<NodeDevices>& found = Communicator::of(graph_.get()).node_devices;
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->fabric);
  std::vector<Rank> same_device;
  for (Rank other = 0; other < size(); ++other) {
    if (other % devices == rank() % devices) same_device.push_back(other);
    const int far = std::abs(other % devices - rank() % devices);
    EXPECT_EQ(found->fabric->hops(rank(), other), far) << other;
    const int narrow = std::min(other, rank()) % devices == 1 ? 1 : 4;
    if (far == 1 && other / devices == rank() / devices) {
      EXPECT_EQ(found->fabric->links(rank(), other), narrow) << other;
    }
  }
  EXPECT_EQ(found->sharing.members, same_device);
}

TEST_F(DevicesOfRanks, NothingIsKnownWhereARankHasNone) {
  if (size() == 1) GTEST_SKIP() << "SKIP: needs a rank with a device beside one without";
  (void)exchange({{"lnw_strategy", "leader_scatter"}}, rank() == 0 ? Mirror::Kind::pinned : Mirror::Kind::device);
  const std::optional<NodeDevices>& found = Communicator::of(graph_.get()).node_devices;
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->fabric);
  EXPECT_EQ(found->sharing.members.size(), static_cast<std::size_t>(size()));
}

/// Nodes are {0, 1} and {2}; one lane in each direction, which ends at rank 1.
TEST_F(DevicesOfRanks, LanesEndNearANetworkInterface) {
  if (size() != 3) GTEST_SKIP() << "SKIP: needs 3 ranks";
  const Plan plan =
      exchange({{"lnw_strategy", "three_step"}, {"lnw_machine", "file:" SECOND_IS_NEAR}, {"lnw_transport", "p2p"}});
  for (const Step& step : plan.steps)
    if ((step.kind == StepKind::send || step.kind == StepKind::receive) && (rank() == 2 || step.peer == 2)) {
      EXPECT_EQ(rank() == 2 ? step.peer : rank(), 1);
    }
}

}  // namespace
}  // namespace laneway::test
