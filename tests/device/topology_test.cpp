#include "runtime/device/topology.hpp"

#include "sim.hpp"

namespace laneway {
namespace {

TEST(DeviceTopology, HasLinksHopsAndBandwidths) {
  std::vector<DeviceIdentity> devices;
  for (const int number : {3, 0, 1, 2}) devices.push_back(identity(sim_device(number)));
  const DeviceTopology topology = find_device_topology(devices);
  using Matrix = std::vector<std::vector<int>>;
  EXPECT_EQ(topology.links, (Matrix{{0, 1, 0, 0}, {1, 0, 4, 0}, {0, 4, 0, 2}, {0, 0, 2, 0}}));
  EXPECT_EQ(topology.hops, (Matrix{{0, 1, 2, 3}, {1, 0, 1, 2}, {2, 1, 0, 1}, {3, 2, 1, 0}}));
  EXPECT_EQ(topology.bytes_per_second[1][2], 200e9);
  EXPECT_EQ(topology.toml().substr(0, 75),
            "[devices]\nlinks = [\n  [0, 1, 0, 0],\n  [1, 0, 4, 0],\n  [0, 4, 0, 2],\n  [0, 0");
  EXPECT_EQ(topology.toml().find("network_distance"), std::string::npos);
  EXPECT_NE(topology.toml(std::vector{2, 0, 3, 1}).find("]\nnetwork_distance = [2, 0, 3, 1]\n#"), std::string::npos);
}

TEST(DeviceTopology, NothingIsKnownOfOtherVendors) {
  std::vector<DeviceIdentity> devices(2, identity(sim_device(0)));
  std::strcpy(devices[1].vendor.data(), "nvidia");
  const DeviceTopology topology = find_device_topology(devices);
  EXPECT_EQ(topology.hops, (std::vector<std::vector<int>>{{0, -1}, {-1, 0}}));
}

TEST(DeviceTopology, TheCurrentDeviceIsTheThreads) {
  EXPECT_EQ(current_device(), sim_device(0));
  sim_extension().set_device(2);
  EXPECT_EQ(current_device(), sim_device(2));
  sim_extension().set_device(0);
}

}  // namespace
}  // namespace laneway
