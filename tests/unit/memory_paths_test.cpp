#include "algorithms/cost/memory_paths.hpp"

#include <gtest/gtest.h>

#include "algorithms/planner/planner.hpp"

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
  EXPECT_TRUE(is_known(MemoryPath::borrowed, lassen_));
  EXPECT_FALSE(is_known(MemoryPath::borrowed, none));
  Parameters without_copies = lassen_;
  without_copies.device_copies.clear();
  EXPECT_FALSE(is_known(MemoryPath::borrowed, without_copies));
}

/// What figures round to, so that all can be worked out by hand: microseconds, and nanoseconds a byte.
Parameters round_figures() {
  return Parameters::parse(R"(name = "round"
provenance = "a test"
[links.node]
protocols = [{ name = "eager", alpha = 5e-6, beta = 1e-9 }]
[links.network]
protocols = [{ name = "eager", alpha = 2e-6, beta = 1e-9 }]
[device_links.network]
protocols = [{ name = "eager", alpha = 3e-6, beta = 1e-9 }]
[overhead]
flag = 1e-6
[[device_copies]]
processes = 1
to_device = { alpha = 8e-6, beta = 4e-11 }
to_host = { alpha = 10e-6, beta = 2e-11 }
pack = { alpha = 6e-6, beta = 3e-11 }
)",
                           "here");
}

/// `rows` rows of `bytes` bytes, with as much between them.
RangeList spaced(std::int64_t bytes, std::int64_t rows) {
  RangeList list;
  list.append(Run{0, bytes, 2 * bytes, rows});
  return list;
}

/// What a rank sends, and receives.
double seconds_of_rows(MemoryPath path, const OnDevice& buffers, const Parameters& parameters, std::int64_t bytes,
                       std::int64_t rows) {
  const RankPattern pattern{{{5, spaced(bytes, rows)}}, {{6, spaced(bytes, rows)}}};
  return path_seconds(path, plan_direct(0, pattern), {buffers, {}, 1}, parameters);
}

TEST(DevicePacking, TakesWhatItsKernelTakes) {
  const Parameters machine = round_figures();
  constexpr double bytes = 1000 * 8;
  // Staged: packed into the host's memory, at the kernel's rate; unpacked from it, at that of the way to the device.
  const double message = 2e-6 + 1e-9 * bytes;
  EXPECT_DOUBLE_EQ(seconds_of_rows(MemoryPath::staged, {true, true}, machine, 8, 1000),
                   message + (6e-6 + 3e-11 * bytes) + (6e-6 + 4e-11 * bytes));
  // Between devices: inside each of them.
  EXPECT_DOUBLE_EQ(seconds_of_rows(MemoryPath::device_aware, {true, true}, machine, 8, 1000),
                   3e-6 + 1e-9 * bytes + 2 * (6e-6 + 3e-11 * bytes));
  // Two rows are not worth a kernel.
  EXPECT_DOUBLE_EQ(seconds_of_rows(MemoryPath::staged, {true, false}, machine, 8, 2),
                   2e-6 + 1e-9 * 16 + 10e-6 + 2e-11 * 16);
  // Large ones are the copy engine's.
  constexpr std::int64_t large = KernelRows{}.shorter_than;
  EXPECT_DOUBLE_EQ(seconds_of_rows(MemoryPath::device_aware, {true, true}, machine, large, 4),
                   3e-6 + 1e-9 * 4 * large + 2 * 10e-6);
}

TEST(DevicePacking, WithoutRatesCostsACopy) {
  Parameters machine = round_figures();
  machine.device_copies[0].pack.reset();
  EXPECT_DOUBLE_EQ(seconds_of_rows(MemoryPath::staged, {true, false}, machine, 8, 1000),
                   2e-6 + 1e-9 * 8000 + 10e-6 + 2e-11 * 8000);
  EXPECT_DOUBLE_EQ(seconds_of_rows(MemoryPath::device_aware, {true, true}, machine, 8, 1000),
                   3e-6 + 1e-9 * 8000 + 2 * 10e-6);
}

/// A copy engine takes 2 us more for each row, a kernel 5 us more than the engine for the first, and 0.02 ns a byte.
TEST(CopyRules, ComeFromWhatRowsTake) {
  Parameters machine = round_figures();
  DeviceCopy& copy = machine.device_copies[0];
  EXPECT_EQ(copy_rule(machine, 1).to_host, KernelRows{});
  copy.gap = 2e-6;
  EXPECT_EQ(copy_rule(machine, 1).to_host, KernelRows{});
  copy.rows_to_host = LinearCost{15e-6, 4e-11};
  const CopyRule rule = copy_rule(machine, 1);
  EXPECT_EQ(rule.to_host.more_than, 3);
  EXPECT_NEAR(static_cast<double>(rule.to_host.shorter_than), 100000, 1);
  EXPECT_EQ(rule.to_device, KernelRows{});
  EXPECT_EQ(rule.inside, KernelRows{});
  // As fast as the bus, but it has to save a hundredth of what the bus takes.
  copy.rows_to_host = LinearCost{1e-6, 1e-11};
  EXPECT_EQ(copy_rule(machine, 1).to_host.more_than, 1);
  EXPECT_NEAR(static_cast<double>(copy_rule(machine, 1).to_host.shorter_than), 1e7, 1);
  EXPECT_EQ(copy_rule(Parameters::read("default-node"), 1).to_device, KernelRows{});
}

TEST(CopyRules, HoldForPredictions) {
  Parameters machine = round_figures();
  DeviceCopy& copy = machine.device_copies[0];
  copy.gap = 2e-6;
  copy.rows_to_host = LinearCost{15e-6, 4e-11};
  const auto seconds = [&](std::int64_t bytes, std::int64_t rows) {
    const double message = 2e-6 + 1e-9 * static_cast<double>(bytes * rows);
    return seconds_of_rows(MemoryPath::staged, {true, false}, machine, bytes, rows) - message;
  };
  EXPECT_NEAR(seconds(1000, 3), 10e-6 + 2 * 2e-6 + 2e-11 * 3000, 1e-12);  // by the engine
  EXPECT_NEAR(seconds(1000, 4), 15e-6 + 4e-11 * 4000, 1e-12);             // by a kernel
  EXPECT_NEAR(seconds(110000, 2), 10e-6 + 2e-6 + 2e-11 * 220000, 1e-12);  // too long for it
  copy.pack->beta = 5e-11;
  EXPECT_NEAR(seconds(1000, 4), 15e-6 + 5e-11 * 4000, 1e-12);
}

class Lending : public testing::Test {
 protected:
  /// What is not lent takes 19 us and 0.06 ns a byte through a mailbox, 23 us and 1.06 ns by a message.
  [[nodiscard]] std::optional<std::int64_t> limit(double alpha, double beta) {
    machine_.device_copies[0].from_peer = LinearCost{alpha, beta};
    return largest_not_lent(machine_, 1, 16384);
  }
  Parameters machine_ = round_figures();
};

TEST_F(Lending, BeginsWhereThePeersDeviceIsFaster) {
  EXPECT_EQ(limit(16e-6, 1e-11), 0);  // two flags and a copy: 18 us
  // 17.5e-6 + 2e-6 + 1e-11 * bytes < 19e-6 + 6e-11 * bytes from 10,001 bytes on.
  EXPECT_NEAR(static_cast<double>(limit(17.5e-6, 1e-11).value()), 10000, 1);
  // Beyond mailboxes, messages cost more.
  EXPECT_EQ(limit(20e-6, 1e-11), 16384);
  // 40e-6 + 2e-6 + 1e-11 * bytes < 23e-6 + 1.06e-9 * bytes from 18,096 bytes on.
  EXPECT_EQ(limit(40e-6, 1e-11), 18095);
}

TEST_F(Lending, IsLeftAloneWherePeersAreSlowOrUnknown) {
  EXPECT_EQ(limit(1e-6, 1.2e-9), never_lent);
  machine_.device_copies[0].from_peer.reset();
  EXPECT_FALSE(largest_not_lent(machine_, 1, 16384));
  EXPECT_FALSE(largest_not_lent(Parameters::read("default-node"), 1, 16384));
  EXPECT_EQ(described_lending(never_lent), "no messages inside a node are taken from the peer's device");
  EXPECT_EQ(described_lending(0), "all messages inside a node are taken from the peer's device");
  EXPECT_EQ(described_lending(4096), "messages inside a node of more than 4096 bytes are taken from the peer's device");
}

/// Lassen: 1.27e-5 + 1.30e-5 s for the two copies of small messages. Between GPUs of a socket 1.87e-6 s.
TEST_F(Lending, MessagesBetweenDevicesStandForCopies) {
  EXPECT_EQ(largest_not_lent(Parameters::read("lassen"), 1, 16384), 0);
}

/// A rank and its neighbour on the node, 1, exchange some bytes; so do it and a rank of another node, 5.
class Borrowing : public testing::Test {
 protected:
  Borrowing() { machine_.device_copies[0].from_peer = LinearCost{1e-6, 1e-11}; }

  [[nodiscard]] double seconds(MemoryPath path, const RankPattern& pattern, std::int64_t lend_bytes = 0) const {
    return path_seconds(path, plan_direct(0, pattern), {{true, true}, node_, 1, lend_bytes}, machine_);
  }

  Parameters machine_ = round_figures();
  const std::vector<Rank> node_ = {0, 1};
  const double flags_ = 2e-6;
};

TEST_F(Borrowing, CostsACopyFromThePeer) {
  constexpr std::int64_t bytes = 100000;
  const RankPattern pattern{{{1, {{0, bytes}}}}, {{1, {{0, bytes}}}}};
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::borrowed, pattern), flags_ + 1e-6 + 1e-11 * bytes);
  // What is not worth it goes through the host.
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::borrowed, pattern, bytes), seconds(MemoryPath::staged, pattern));
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::borrowed, pattern, never_lent), seconds(MemoryPath::staged, pattern));
}

TEST_F(Borrowing, LeavesTheRestToTheHost) {
  constexpr std::int64_t bytes = 100000;
  const RankPattern inside{{{1, {{0, bytes}}}}, {{1, {{0, bytes}}}}};
  const RankPattern across{{{5, {{bytes, bytes}}}}, {{5, {{bytes, bytes}}}}};
  const RankPattern both{{inside.out[0], across.out[0]}, {inside.in[0], across.in[0]}};
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::borrowed, both),
                   seconds(MemoryPath::borrowed, inside) + seconds(MemoryPath::staged, across));
  // The same bytes for both: they leave the device anyway.
  const RankPattern shared{{inside.out[0], {5, {{0, bytes}}}}, both.in};
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::borrowed, shared), seconds(MemoryPath::borrowed, both));
}

/// Rows are packed and unpacked by the copy from the peer.
TEST_F(Borrowing, NeedsNoStagingMemory) {
  const RankPattern pattern{{{1, spaced(8, 1000)}}, {{1, spaced(8, 1000)}}};
  EXPECT_DOUBLE_EQ(seconds(MemoryPath::borrowed, pattern), flags_ + 1e-6 + 1e-11 * 8000);
}

}  // namespace
}  // namespace laneway
