#include "model/memory_paths.hpp"

#include <gtest/gtest.h>

#include "setup/planner.hpp"

namespace laneway {
namespace {

/// Lassen's tables: a large message between CPUs of two nodes, between GPUs, and copies by one process.
constexpr double cpu_alpha = 7.76e-06, cpu_beta = 7.97e-11;
constexpr double gpu_alpha = 1.10e-05, gpu_beta = 1.72e-10;
constexpr double to_host_alpha = 1.27e-05, to_host_beta = 1.96e-11;
constexpr double to_device_alpha = 1.30e-05, to_device_beta = 1.85e-11;

class MemoryPathsTest : public testing::Test {
 protected:
  [[nodiscard]] double seconds(MemoryPath path, const OnDevice& buffers, std::int64_t bytes, int processes = 1) const {
    const RankPattern pattern{{{5, {{0, bytes}}}}, {{6, {{0, bytes}}}}};
    return path_seconds(path, plan_direct(0, pattern), {buffers, node_, processes}, lassen_);
  }

  const Parameters lassen_ = Parameters::read("lassen");
  const std::vector<Rank> node_ = {0, 1};
};

TEST_F(MemoryPathsTest, StagedAddsItsCopiesToMessagesOfTheHost) {
  constexpr std::int64_t bytes = 200000;  // one copy in each direction
  const double message = cpu_alpha + cpu_beta * bytes;
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::staged, {}, bytes), message);
  const double to_host = to_host_alpha + to_host_beta * bytes;
  const double to_device = to_device_alpha + to_device_beta * bytes;
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::staged, {true, false}, bytes), message + to_host);
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::staged, {true, true}, bytes), message + to_host + to_device);
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::device_aware, {true, true}, bytes), gpu_alpha + gpu_beta * bytes);
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::device_aware, {}, bytes), message);
}

TEST_F(MemoryPathsTest, MoreProcessesOfADeviceCopyMoreSlowly) {
  constexpr std::int64_t bytes = 200000;
  const double one = seconds(MemoryPath::staged, {true, false}, bytes);
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::staged, {true, false}, bytes, 3), one);
  const double four = seconds(MemoryPath::staged, {true, false}, bytes, 4);
  EXPECT_DOUBLE_EQ(four - one, 1.47e-05 - to_host_alpha + (1.50e-10 - to_host_beta) * bytes);
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::device_aware, {true, true}, bytes, 4),
                   seconds(MemoryPath::device_aware, {true, true}, bytes));
}

/// As Lassen's measurements have it: addresses on devices for small messages, the host for large ones.
TEST_F(MemoryPathsTest, TheFasterPathDependsOnTheSize) {
  const OnDevice buffers{true, true};
  EXPECT_LT(seconds(MemoryPath::device_aware, buffers, 1000), seconds(MemoryPath::staged, buffers, 1000));
  EXPECT_GT(seconds(MemoryPath::device_aware, buffers, 1 << 22), seconds(MemoryPath::staged, buffers, 1 << 22));
}

TEST_F(MemoryPathsTest, WhatIsNotKnownIsNotCompared) {
  const Parameters none = Parameters::read("default-ethernet");
  for (const MemoryPath path : {MemoryPath::staged, MemoryPath::device_aware}) {
    EXPECT_TRUE(is_known(path, lassen_));
    EXPECT_FALSE(is_known(path, none));
  }
  EXPECT_FALSE(is_known(MemoryPath::borrowed, lassen_));
}

}  // namespace
}  // namespace laneway
