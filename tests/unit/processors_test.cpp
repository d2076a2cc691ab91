#include "base/process/processors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace laneway {
namespace {

namespace fs = std::filesystem;

/// /proc and mounted control groups of a machine that is not this one.
class Host {
 public:
  Host() {
    std::string name = (fs::temp_directory_path() / "laneway-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~Host() { fs::remove_all(root_); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << text;
  }
  [[nodiscard]] ProcessorQuota quota() const { return read_quota(root_); }

 private:
  std::string root_;
};

constexpr const char* unified_mount =
    "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Processors, WithoutControlGroupsThereIsNoQuota) {
  const Host machine;
  EXPECT_TRUE(std::isinf(machine.quota().processors));
  EXPECT_EQ(machine.quota().group, 0U);
}

TEST(Processors, TheLeastQuotaAlongThePathCounts) {
  const Host machine;
  machine.write("/proc/self/mountinfo", unified_mount);
  machine.write("/proc/self/cgroup", "0::/system.slice/job/step\n");
  machine.write("/sys/fs/cgroup/system.slice/cpu.max", "max 100000\n");
  machine.write("/sys/fs/cgroup/system.slice/job/cpu.max", "150000 100000\n");
  machine.write("/sys/fs/cgroup/system.slice/job/step/cpu.max", "400000 100000\n");
  EXPECT_DOUBLE_EQ(machine.quota().processors, 1.5);
  const std::uint64_t of_job = machine.quota().group;
  EXPECT_NE(of_job, 0U);
  machine.write("/proc/self/cgroup", "0::/system.slice/job/other\n");
  EXPECT_EQ(machine.quota().group, of_job);
  machine.write("/sys/fs/cgroup/system.slice/job/other/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(machine.quota().processors, 0.5);
  EXPECT_NE(machine.quota().group, of_job);
  machine.write("/proc/self/cgroup", "0::/\n");
  EXPECT_TRUE(std::isinf(machine.quota().processors));
}

TEST(Processors, VersionOneHasFilesOfItsOwn) {
  const Host machine;
  machine.write("/proc/self/mountinfo",
                "31 22 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "33 22 0:29 / /sys/fs/cgroup/cpu\\040and rw - cgroup cgroup rw,cpu,cpuacct\n"
                "34 22 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  machine.write("/proc/self/cgroup", "7:memory:/else\n4:cpuacct,cpu:/docker/abc\n0::/\n");
  machine.write("/sys/fs/cgroup/cpu and/docker/abc/cpu.cfs_quota_us", "-1\n");
  machine.write("/sys/fs/cgroup/cpu and/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(machine.quota().processors));
  machine.write("/sys/fs/cgroup/cpu and/docker/cpu.cfs_quota_us", "30000\n");
  machine.write("/sys/fs/cgroup/cpu and/docker/cpu.cfs_period_us", "10000\n");
  EXPECT_DOUBLE_EQ(machine.quota().processors, 3);
}

/// The mount shows a container's own group and what is inside it only, with or without a namespace.
TEST(Processors, ContainersSeeTheirOwnGroup) {
  for (const char* path : {"/docker/abc", "/", "/../../docker/abc"}) {
    const Host machine;
    machine.write("/proc/self/mountinfo", "33 22 0:29 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    machine.write("/proc/self/cgroup", "0::" + std::string(path) + "\n");
    machine.write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    machine.write("/sys/fs/cgroup/docker/abc/cpu.max", "100000 100000\n");
    EXPECT_DOUBLE_EQ(machine.quota().processors, 2) << path;
  }
}

TEST(Processors, DamagedFilesAreNoQuota) {
  for (const char* text : {"", "max", "-5 100000", "100000", "100000 0", "x y"}) {
    const Host machine;
    machine.write("/proc/self/mountinfo", std::string("\n - \nx\n") + unified_mount);
    machine.write("/proc/self/cgroup", "\n:\n0::/a\n");
    machine.write("/sys/fs/cgroup/a/cpu.max", text);
    EXPECT_TRUE(std::isinf(machine.quota().processors)) << text;
  }
}

Processors with(int first_core, int cores, double quota = 0, std::uint64_t group = 0) {
  Processors one;
  CPU_ZERO(&one.cores);
  for (int i = 0; i < cores; ++i) CPU_SET(first_core + i, &one.cores);
  if (group != 0) one.quota = {quota, group};
  return one;
}

TEST(Processors, CoresAreCountedOnce) {
  EXPECT_FALSE(have_one_each(0, {}));
  EXPECT_TRUE(have_one_each(2, std::vector{with(0, 2), with(0, 2)}));
  EXPECT_FALSE(have_one_each(3, std::vector{with(0, 2), with(0, 2), with(1, 1)}));
  EXPECT_TRUE(have_one_each(3, std::vector{with(0, 1), with(1, 1), with(2, 1)}));
  EXPECT_FALSE(have_one_each(1, std::vector{Processors{}}));
}

TEST(Processors, QuotasOfAGroupAreForAllInIt) {
  const Processors in_small = with(0, 8, 2.5, 1);
  const Processors in_other = with(0, 8, 2.5, 2);
  const Processors free = with(0, 8);
  EXPECT_TRUE(have_one_each(2, std::vector{in_small, in_small}));
  EXPECT_FALSE(have_one_each(3, std::vector{in_small, in_small, in_small}));
  EXPECT_TRUE(have_one_each(5, std::vector{in_small, in_other, in_small, in_other, free}));
  EXPECT_FALSE(have_one_each(4, std::vector{in_small, in_small})) << "two more may be in the same group";
  EXPECT_TRUE(have_one_each(8, std::vector{free}));
}

}  // namespace
}  // namespace laneway
