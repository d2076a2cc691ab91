// Where ranks are: found by MPI and hwloc, or imposed by a description.
#include "communicator/nodes/discovery.hpp"
#include "machine/machine.hpp"
#include "support.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>

namespace laneway::test {
namespace {

class DiscoveryTest : public MpiTest {};

void expect_consistent(MPI_Comm comm, const Region& region) {
  int r = 0, n = 0;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &n);
  EXPECT_TRUE(std::is_sorted(region.members.begin(), region.members.end()));
  EXPECT_TRUE(std::binary_search(region.members.begin(), region.members.end(), r));
  EXPECT_EQ(region.id, region.members.front());
  // All members have the same region, nobody else has it.
  std::vector<int> ids(static_cast<std::size_t>(n));
  MPI_Allgather(&region.id, 1, MPI_INT, ids.data(), 1, MPI_INT, comm);
  std::vector<Rank> same;
  for (int other = 0; other < n; ++other)
    if (ids[static_cast<std::size_t>(other)] == region.id) same.push_back(other);
  EXPECT_EQ(region.members, same);
}

TEST_F(DiscoveryTest, NodesFoundByMpi) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int on_node = 0;
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);

  // A part first, when the world is not known.
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, -rank(), &part);
  const Region before = find_node(part, "", false);
  expect_consistent(part, before);
  if (size() > 1) {
    EXPECT_EQ(known_world(), 0);
  }

  const Region world = find_node(MPI_COMM_WORLD, "", false);
  expect_consistent(MPI_COMM_WORLD, world);
  EXPECT_EQ(static_cast<int>(world.members.size()), on_node);
  EXPECT_NE(known_world(), 0);

  // By translation the same.
  EXPECT_EQ(find_node(part, "", true), before);
  EXPECT_EQ(find_node(MPI_COMM_WORLD, "", true), world);
  EXPECT_EQ(find_node(MPI_COMM_SELF, "", true), (Region{0, {0}}));
  MPI_Comm_free(&part);
}

TEST_F(DiscoveryTest, ImposedNodes) {
  for (const std::string& machine : machines()) {
    if (machine.empty()) continue;
    const Region world = find_node(MPI_COMM_WORLD, machine, false);
    expect_consistent(MPI_COMM_WORLD, world);
    EXPECT_EQ(world, Machine::parse(machine, size()).region(0, rank()));
    // Of other communicators: the same places, as ranks there.
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank(), &reversed);
    const Region there = find_node(reversed, machine, false);
    expect_consistent(reversed, there);
    std::vector<Rank> expected;
    for (Rank member : world.members) expected.insert(expected.begin(), size() - 1 - member);
    EXPECT_EQ(there.members, expected) << machine;
    MPI_Comm_free(&reversed);
  }
}

TEST_F(DiscoveryTest, AFileIsParsedOnceForWhatItSays) {
  const std::string path = "machine_of_rank_" + std::to_string(rank());
  const auto write = [&](const std::string& text) { std::ofstream(path) << text << '\n'; };
  write("node:* rank:1");
  const std::shared_ptr<const Machine> machine = described_world("file:" + path);
  EXPECT_EQ(described_world("file:" + path), machine);
  EXPECT_EQ(machine->region(0, rank()).members.size(), 1U);
  write("node:1 rank:" + std::to_string(size()));
  const std::shared_ptr<const Machine> other = described_world("file:" + path);
  EXPECT_NE(other, machine);
  EXPECT_EQ(other->region(0, rank()).members.size(), static_cast<std::size_t>(size()));
  write("node:* rank:1");
  EXPECT_EQ(described_world("file:" + path), machine);
  std::filesystem::remove(path);
}

TEST_F(DiscoveryTest, RegionTree) {
  const Binding binding = binding_of_this_process();
  EXPECT_GE(binding.package, -1);
  EXPECT_GE(binding.numa_node, -1);
  const std::vector<TreeLevel> tree = find_region_tree(MPI_COMM_WORLD);
  ASSERT_FALSE(tree.empty());
  EXPECT_EQ(tree.front().name, "node");
  for (std::size_t level = 0; level < tree.size(); ++level) {
    const Region& region = tree[level].region;
    EXPECT_TRUE(std::binary_search(region.members.begin(), region.members.end(), rank()));
    if (level == 0) continue;
    const Region& outer = tree[level - 1].region;
    EXPECT_TRUE(
        std::includes(outer.members.begin(), outer.members.end(), region.members.begin(), region.members.end()));
    EXPECT_LT(region.members.size(), outer.members.size());
  }
  if (rank() == 0)
    std::cout << "package " << binding.package << ", NUMA node " << binding.numa_node << ", " << tree.size()
              << " levels\n";
}

}  // namespace
}  // namespace laneway::test
