#include <algorithm>
#include <numeric>
#include <random>

#include "sim.hpp"

namespace laneway {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// What the kernel has to do, by a plain loop.
void move_plainly(const std::vector<lnw_device_run>& runs, const std::vector<std::uint8_t*>& bases) {
  for (const lnw_device_run& run : runs)
    for (std::int64_t row = 0; row < run.count; ++row)
      for (std::int64_t i = 0; i < run.bytes; ++i)
        bases[run.to_base][run.to + row * run.to_stride + i] =
            bases[run.from_base][run.from + row * run.from_stride + i];
}

constexpr std::size_t buffer_bytes = 40000;

void expect_as_plain_loop(const std::vector<lnw_device_run>& runs) {
  // Bases 0 and 1 are read, 2 and 3 written; one of each is the host's.
  std::mt19937 random(4);
  std::vector<Bytes> expected(4, Bytes(buffer_bytes));
  std::vector<DeviceMemory> memory;
  std::vector<void*> bases;
  std::vector<std::uint8_t*> plain;
  for (std::size_t i = 0; i < 4; ++i) {
    std::generate(expected[i].begin(), expected[i].end(), [&] { return static_cast<std::uint8_t>(random()); });
    memory.emplace_back(sim_device(), buffer_bytes, i % 2 == 0 ? MemoryKind::device : MemoryKind::pinned);
    write(memory.back().data(), expected[i]);
    bases.push_back(memory.back().data());
    plain.push_back(expected[i].data());
  }
  move_plainly(runs, plain);
  const Moves moves(sim_device(), runs);
  const Stream stream(sim_device());
  moves.launch(stream, bases);
  stream.synchronize();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(read<std::uint8_t>(bases[i], buffer_bytes), expected[i]) << "base " << i;
}

TEST(DeviceMoves, RunsOfAllSizesAndStrides) {
  std::mt19937 random(1);
  for (const std::int64_t unit : {1, 4, 8, 16}) {
    std::vector<lnw_device_run> runs;
    std::int64_t to = 0;
    while (runs.size() < 60) {
      const auto rows = static_cast<std::int64_t>(random() % 6);
      const std::int64_t bytes = unit * static_cast<std::int64_t>(random() % 8);
      const std::int64_t gap = unit * static_cast<std::int64_t>(random() % 3);
      const bool backwards = random() % 2 == 0;
      const std::int64_t span = rows * (bytes + gap);
      const std::int64_t from = unit * static_cast<std::int64_t>(random() % 1000);
      runs.push_back({from, backwards && rows > 0 ? to + span - bytes - gap : to, bytes,
                      unit * static_cast<std::int64_t>(random() % 100), backwards ? -(bytes + gap) : bytes + gap, rows,
                      static_cast<std::uint32_t>(random() % 2), static_cast<std::uint32_t>(2 + random() % 2)});
      to += span;
    }
    expect_as_plain_loop(runs);
  }
}

TEST(DeviceMoves, GathersAndScattersElements) {
  std::mt19937 random(2);
  for (const std::int64_t element : {4, 8, 16}) {
    std::vector<std::int64_t> places(2000);
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random);
    std::vector<lnw_device_run> runs;
    for (std::int64_t i = 0; i < 1000; ++i) {
      const std::int64_t place = places[static_cast<std::size_t>(i)] * element;
      runs.push_back({place, i * element, element, 0, 0, 1, 0, 2});
      runs.push_back({i * element, place, element, 0, 0, 1, 1, 3});
    }
    expect_as_plain_loop(runs);
  }
}

TEST(DeviceMoves, NothingToMove) {
  expect_as_plain_loop({});
  expect_as_plain_loop({{0, 0, 0, 0, 0, 5, 0, 2}, {0, 0, 8, 0, 0, 0, 0, 2}});
}

TEST(DeviceMoves, WrongRunsAreRefused) {
  const auto create = [](const std::vector<lnw_device_run>& runs) {
    return thrown([&] { Moves(sim_device(), runs); }, ErrorKind::device);
  };
  EXPECT_NE(create({{0, 0, 8, 0, 0, 1, 0, 1}, {8, 7, 8, 0, 0, 1, 0, 1}}).find("two runs write byte 7 of base 1"),
            std::string::npos);
  EXPECT_NE(create({{0, 0, -8, 0, 0, 1, 0, 1}}).find("negative size"), std::string::npos);
  EXPECT_NE(create({{0, 0, 8, 0, 0, 1, 0, LNW_DEVICE_BASES}}).find("without a base"), std::string::npos);
}

TEST(DeviceMoves, KernelsReachDeviceAndPinnedMemoryOnly) {
  const DeviceMemory memory(sim_device(), 100);
  const Moves moves(sim_device(), std::vector<lnw_device_run>{{0, 0, 8, 0, 0, 1, 0, 1}});
  const Stream stream(sim_device());
  std::vector<std::byte> host(100);
  const auto launch = [&](std::vector<void*> bases) {
    return thrown([&] { moves.launch(stream, bases); }, ErrorKind::device);
  };
  EXPECT_NE(launch({memory.data(), host.data()}).find("neither the device's nor pinned"), std::string::npos);
  EXPECT_NE(launch({memory.data() + 95, memory.data()}).find("leaves the 100 bytes"), std::string::npos);
  EXPECT_NE(launch({memory.data()}).find("more bases"), std::string::npos);
  const HostRegistration registration(sim_device(), host.data(), host.size());
  moves.launch(stream, std::vector<void*>{memory.data(), host.data()});
  stream.synchronize();
}

}  // namespace
}  // namespace laneway
