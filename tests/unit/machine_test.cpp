#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "machine/fabric.hpp"
#include "machine/machine.hpp"

namespace laneway {
namespace {

std::vector<Rank> ids(const Machine& machine, int level) {
  std::vector<Rank> result;
  for (Rank r = 0; r < machine.ranks(); ++r) {
    result.push_back(machine.region_id(level, r));
    const Region region = machine.region(level, r);
    EXPECT_EQ(region.id, result.back());
    EXPECT_EQ(region.members.front(), region.id);
    EXPECT_TRUE(std::is_sorted(region.members.begin(), region.members.end()));
    EXPECT_EQ(std::count(region.members.begin(), region.members.end(), r), 1);
  }
  for (Rank r = 0; r < machine.ranks(); ++r)
    EXPECT_EQ(std::count(result.begin(), result.end(), result[static_cast<std::size_t>(r)]),
              static_cast<std::ptrdiff_t>(machine.region(level, r).members.size()));
  return result;
}

std::string error_of(const std::string& text, Rank ranks) {
  try {
    (void)Machine::parse(text, ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::info);
    return error.what();
  }
  return "";
}

/// A file that is gone at the end of the test.
class File {
 public:
  explicit File(const std::string& text, const std::string& ending = "")
      : path_(testing::TempDir() + "laneway_machine_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
              ending) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Machine, LevelsWithSizes) {
  const Machine machine = Machine::parse("node:2 socket:2 rank:2", 8);
  ASSERT_EQ(machine.levels(), 2);
  EXPECT_EQ(machine.level_name(0), "node");
  EXPECT_EQ(machine.level_name(1), "socket");
  EXPECT_EQ(ids(machine, 0), (std::vector<Rank>{0, 0, 0, 0, 4, 4, 4, 4}));
  EXPECT_EQ(ids(machine, 1), (std::vector<Rank>{0, 0, 2, 2, 4, 4, 6, 6}));
}

TEST(Machine, AsManyNodesAsNeeded) {
  EXPECT_EQ(ids(Machine::parse("node:* rank:4", 10), 0), (std::vector<Rank>{0, 0, 0, 0, 4, 4, 4, 4, 8, 8}));
  EXPECT_EQ(ids(Machine::parse("node:* rank:4", 2), 0), (std::vector<Rank>{0, 0}));
  EXPECT_EQ(ids(Machine::parse("node:* socket:1000000 rank:1000000", 2), 0), (std::vector<Rank>{0, 0}));
}

TEST(Machine, UnevenNodes) {
  const Machine machine = Machine::parse(" ranks:1, 3,2\n", 6);
  EXPECT_EQ(machine.levels(), 1);
  EXPECT_EQ(ids(machine, 0), (std::vector<Rank>{0, 1, 1, 1, 4, 4}));
}

TEST(Machine, OneLevelOnly) {
  EXPECT_EQ(ids(Machine::parse("rank:3", 3), 0), (std::vector<Rank>{0, 0, 0}));
  EXPECT_EQ(ids(Machine::parse("node:3", 3), 0), (std::vector<Rank>{0, 1, 2}));
}

TEST(Machine, FilesNameAPathForEachRank) {
  const File file("# two nodes, dealt in turn\nn0/s0\nn1/s0\n\nn0/s1  # the second socket\nn1/s0\n");
  const Machine machine = Machine::parse("file:" + file.path(), 4);
  EXPECT_EQ(machine.levels(), 2);
  EXPECT_EQ(ids(machine, 0), (std::vector<Rank>{0, 1, 0, 1}));
  EXPECT_EQ(ids(machine, 1), (std::vector<Rank>{0, 1, 2, 1}));
}

TEST(Machine, FilesMayHoldADescription) {
  const File file("node:2 rank:2\n");
  EXPECT_EQ(ids(Machine::parse("file:" + file.path(), 4), 0), (std::vector<Rank>{0, 0, 2, 2}));
}

TEST(Machine, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(error_of("node:2 rank:3", 8), "machine 'node:2 rank:3' describes 6 ranks, there are 8");
  EXPECT_EQ(error_of("node:2 rank:9", 8), "machine 'node:2 rank:9' describes more ranks than the 8 there are");
  EXPECT_EQ(error_of("ranks:3,3", 8), "machine 'ranks:3,3' describes 6 ranks, there are 8");
  EXPECT_EQ(error_of("ranks:3,x", 8), "machine 'ranks:3,x': 'x' is not a positive number");
  EXPECT_EQ(error_of("node:0 rank:8", 8), "machine 'node:0 rank:8': '0' is not a positive number");
  EXPECT_EQ(error_of("node:2 rank", 8), "machine 'node:2 rank': expected name:number, found 'rank'");
  EXPECT_EQ(error_of("node:2 rank:*", 8), "machine 'node:2 rank:*': only the first level can be '*'");
  EXPECT_EQ(error_of("", 8), "the machine description is empty");
  EXPECT_EQ(error_of("file:/nowhere", 8), "machine file '/nowhere' cannot be read");
}

TEST(Machine, ErrorsInFiles) {
  {
    const File file("n0\nn0/s1\n");
    EXPECT_EQ(error_of("file:" + file.path(), 2),
              "machine file '" + file.path() + "': rank 1 has 2 levels, rank 0 has 1");
    EXPECT_EQ(error_of("file:" + file.path(), 3), "machine 'file:" + file.path() + "' describes 2 ranks, there are 3");
  }
  const File file("file:other\n");
  EXPECT_EQ(error_of("file:" + file.path(), 1), "machine file '" + file.path() + "' names another file");
}

TEST(Machine, Paths) {
  const Machine machine = Machine::from_paths({"b", "a", "b", "c", "a"});
  EXPECT_EQ(ids(machine, 0), (std::vector<Rank>{0, 1, 0, 3, 1}));
  EXPECT_THROW((void)Machine::from_paths({}), Error);
}

TEST(Machine, FindsLevels) {
  const Machine machine = Machine::parse("node:2 socket:2 gpu:2 rank:2", 16);
  EXPECT_EQ(machine.find_levels({""}), std::vector<int>{0});
  EXPECT_EQ(machine.find_levels({"", ""}), (std::vector<int>{0, 1}));
  EXPECT_EQ(machine.find_levels({"socket", ""}), (std::vector<int>{1, 2}));
  EXPECT_EQ(machine.find_levels({"node", "gpu", "rank"}), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(ids(machine, 3), ids(Machine::parse("node:16 rank:1", 16), 0));
  const auto refuses = [&](const std::vector<std::string>& names) {
    try {
      (void)machine.find_levels(names);
      return std::string("nothing");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refuses({"node", "numa"}), "there is no level 'numa'; the machine has node, socket, gpu");
  EXPECT_EQ(refuses({"socket", "node"}),
            "level 'node' is not inside the one before it; the machine has node, socket, gpu");
  EXPECT_EQ(refuses({"gpu", "", ""}), "the strategy works on 3 levels, the machine has node, socket, gpu");
}

TEST(Machine, LinksBetweenDevices) {
  const std::string head = "description = \"node:2 gpu:3\"\n[devices]\n";
  const auto parse = [&](const std::string& text) {
    const File file(text, ".toml");
    const std::string name = "machine file '" + file.path() + "': ";
    std::string error = error_of("file:" + file.path(), 6);
    if (error.starts_with(name)) error.erase(0, name.size());
    return error;
  };
  const File file(head + "links = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]\n", ".toml");
  EXPECT_EQ(network_distance(Machine::parse("file:" + file.path(), 6), 0), 0);
  const auto fabric = Fabric::of(Machine::parse("file:" + file.path(), 6));
  EXPECT_EQ(fabric->links(0, 1), 2);
  EXPECT_EQ(fabric->hops(0, 2), 2);
  EXPECT_EQ(fabric->hops(3, 5), 2);
  EXPECT_FALSE(fabric->joins(2, 3));
  EXPECT_EQ(parse(head + "links = [[0, 2], [2, 0, 1]]\n"),
            "line 3: devices.links: row 1 of the links has 3 entries, not 2");
  EXPECT_EQ(parse(head + "links = [[0, 1, 0], [2, 0, 1], [0, 1, 0]]\n"),
            "line 3: devices.links: the links between devices 0 and 1 are 1 and 2");
  EXPECT_EQ(parse(head + "links = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]\n"),
            "line 3: devices.links: no links join devices 0 and 2");
  EXPECT_EQ(parse(head + "links = [0, 1]\n"), "line 3: devices.links[0]: expected an array, found an integer");
  const File near(head + "network_distance = [2, 0, 1]\n", ".toml");
  const Machine machine = Machine::parse("file:" + near.path(), 6);
  EXPECT_EQ(Fabric::of(machine), nullptr);
  EXPECT_EQ(network_distance(machine, 0), 2);
  EXPECT_EQ(network_distance(machine, 4), 0);
  EXPECT_EQ(parse(head + "links = [[0, 2], [2, 0]]\nnetwork_distance = [0]\n"),
            "line 4: devices.network_distance: has 1 entries, the links are of 2 devices");
  EXPECT_EQ(parse(head), "line 2: devices.links: missing");
  EXPECT_EQ(parse("[devices]\n"), "line 1: description: missing");
  EXPECT_TRUE(parse("description = \n").starts_with("line 1: "));
}

}  // namespace
}  // namespace laneway
