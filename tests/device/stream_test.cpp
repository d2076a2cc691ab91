#include <atomic>
#include <chrono>
#include <thread>

#include "sim.hpp"

namespace laneway {
namespace {

class DeviceStream : public testing::Test {
 protected:
  void TearDown() override { configure("reorder=off,drop=0,delay=200e-6,h2d=0:0,d2h=0:0,d2d=0:0,peer=0:0,kernel=0:0"); }
};

TEST_F(DeviceStream, CopiesBetweenAllKindsOfMemory) {
  constexpr std::size_t count = 3000;
  const auto values = count_up<std::uint32_t>(count);
  constexpr std::size_t bytes = count * sizeof(std::uint32_t);
  const Stream stream(sim_device());
  for (const MemoryKind from : {MemoryKind::device, MemoryKind::managed, MemoryKind::pinned})
    for (const MemoryKind to : {MemoryKind::device, MemoryKind::managed, MemoryKind::pinned})
      for (const int peer : {0, 1}) {
        const DeviceMemory source(sim_device(), bytes, from);
        const DeviceMemory target(sim_device(peer), bytes, to);
        std::vector<std::uint32_t> result(count);
        stream.copy(source.data(), values.data(), bytes);
        stream.copy(target.data(), source.data(), bytes);
        stream.copy(result.data(), target.data(), bytes);
        stream.synchronize();
        EXPECT_TRUE(stream.idle());
        EXPECT_EQ(result, values) << name(from) << " to " << name(to);
      }
}

TEST_F(DeviceStream, CountsCopiesByWay) {
  const lnw_sim_counters before = sim_counters();
  const DeviceMemory a(sim_device(0), 100), b(sim_device(0), 100), c(sim_device(1), 100);
  const Stream stream(sim_device());
  std::vector<std::byte> host(100);
  stream.copy(a.data(), host.data(), 100);
  stream.copy(b.data(), a.data(), 50);
  stream.copy(c.data(), a.data(), 20);
  stream.copy(host.data(), c.data(), 10);
  stream.synchronize();
  const lnw_sim_counters after = sim_counters();
  EXPECT_EQ(after.host_to_device_bytes - before.host_to_device_bytes, 100u);
  EXPECT_EQ(after.device_to_device_bytes - before.device_to_device_bytes, 50u);
  EXPECT_EQ(after.peer_bytes - before.peer_bytes, 20u);
  EXPECT_EQ(after.device_to_host_bytes - before.device_to_host_bytes, 10u);
}

TEST_F(DeviceStream, CopiesAndFillsRows) {
  constexpr std::size_t rows = 7, bytes = 12, pitch = 20;
  const auto values = count_up<std::uint8_t>(rows * pitch);
  const DeviceMemory memory(sim_device(), rows * pitch);
  const Stream stream(sim_device());
  stream.fill(memory.data(), 0xEE, rows * pitch);
  const std::array list = {
      lnw_device_rows{memory.data() + pitch * (rows - 1), values.data(), bytes, -static_cast<int>(pitch), pitch, rows},
      lnw_device_rows{nullptr, nullptr, 0, 0, 0, 5}, lnw_device_rows{nullptr, nullptr, 5, 0, 0, 0}};
  stream.copy(list);
  stream.synchronize();
  const auto found = read<std::uint8_t>(memory.data(), rows * pitch);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < pitch; ++i)
      EXPECT_EQ(found[row * pitch + i], i < bytes ? values[(rows - 1 - row) * pitch + i] : 0xEE);
}

TEST_F(DeviceStream, IllegalAddressesAreRefused) {
  std::vector<std::byte> host(300);
  std::byte* freed = nullptr;
  const Stream stream(sim_device());
  {
    const DeviceMemory memory(sim_device(), 200);
    freed = memory.data();
    EXPECT_NE(
        thrown([&] { stream.copy(memory.data() + 100, host.data(), 101); }, ErrorKind::device).find("illegal address"),
        std::string::npos);
  }
  EXPECT_NE(thrown([&] { stream.copy(host.data(), freed, 8); }, ErrorKind::device).find("was freed"),
            std::string::npos);
}

TEST_F(DeviceStream, OfAnotherDeviceIsRefused) {
  const Stream mine(sim_device(1));
  EXPECT_TRUE(Stream::of_user(sim_device(1), mine.handle()));
  EXPECT_EQ(thrown([&] { (void)Stream::of_user(sim_device(0), mine.handle()); }, ErrorKind::argument),
            "the stream is of device 1, and the buffers are on device 0");
  int no_stream = 0;
  EXPECT_NE(thrown([&] { (void)Stream::of_user(sim_device(0), &no_stream); }, ErrorKind::device).find("no such stream"),
            std::string::npos);
}

TEST_F(DeviceStream, TheDefaultStreamIsTheDevices) {
  const DeviceMemory memory(sim_device(2), 8);
  const Stream stream = Stream::of_user(sim_device(2), nullptr);
  stream.fill(memory.data(), 3, 8);
  stream.synchronize();
  EXPECT_EQ(read<std::uint8_t>(memory.data(), 1)[0], 3);
  int device = -1;
  sim_extension().set_device(2);
  EXPECT_EQ(device_plugins().front()->stream_device(nullptr, &device), LNW_DEVICE_OK);
  EXPECT_EQ(device, 2);
  EXPECT_EQ(device_plugins().front()->current_device(&device), LNW_DEVICE_OK);
  EXPECT_EQ(device, 2);
  sim_extension().set_device(0);
}

TEST_F(DeviceStream, SaysWhetherItIsCaptured) {
  const Stream stream(sim_device());
  EXPECT_FALSE(stream.is_capturing());
  sim_extension().begin_capture(stream.handle());
  EXPECT_TRUE(stream.is_capturing());
  std::byte byte{};
  (void)thrown([&] { stream.copy(&byte, &byte, 1); }, ErrorKind::unsupported);
  sim_extension().end_capture(stream.handle());
  EXPECT_FALSE(stream.is_capturing());
}

TEST_F(DeviceStream, CallsTheHostInOrder) {
  const Stream stream(sim_device());
  struct Seen {
    std::atomic<int> calls{0};
    int status = 0;
  } seen;
  stream.call(
      [](void* argument) {
        auto& here = *static_cast<Seen*>(argument);
        int count = 0;
        here.status = device_plugins().front()->device_count(&count);
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        ++here.calls;
      },
      &seen);
  Event after(sim_device());
  after.record(stream);
  after.synchronize();
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.status, LNW_DEVICE_INVALID) << "it must not call the device";
}

TEST_F(DeviceStream, DestroyingItDoesNotWait) {
  DeviceFlags flags(sim_device(), 2);
  {
    const Stream stream(sim_device());
    stream.wait(flags.word(0), 1);
    stream.write(flags.word(1), 5);
  }
  EXPECT_EQ(*flags.word(1), 0u);
  __atomic_store_n(flags.word(0), 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(flags.word(1), __ATOMIC_ACQUIRE) != 5) std::this_thread::yield();
}

TEST_F(DeviceStream, FlagsHoldStreams) {
  const DeviceFlags flags(sim_device(), 3);
  const Stream first(sim_device(0)), second(sim_device(1));
  second.wait(flags.word(1), 7);
  second.write(flags.word(2), 1);
  EXPECT_FALSE(second.idle());
  first.wait(flags.word(0), 2);
  first.write(flags.word(1), 8);
  EXPECT_EQ(*flags.word(2), 0u);
  __atomic_store_n(flags.word(0), 2, __ATOMIC_RELEASE);
  second.synchronize();
  EXPECT_EQ(*flags.word(2), 1u);
  std::uint64_t unpinned = 0;
  (void)thrown([&] { first.write(&unpinned, 1); }, ErrorKind::device);
}

TEST_F(DeviceStream, EventsKnowWhenTheyAreComplete) {
  const DeviceFlags flags(sim_device(), 1);
  const Stream stream(sim_device());
  const Event event(sim_device());
  EXPECT_TRUE(event.complete()) << "never recorded";
  stream.wait(flags.word(0), 1);
  event.record(stream);
  EXPECT_FALSE(event.complete());
  __atomic_store_n(flags.word(0), 1, __ATOMIC_RELEASE);
  event.synchronize();
  EXPECT_TRUE(event.complete());
}

TEST_F(DeviceStream, RatesAreKept) {
  configure("h2d=1e-3:1e9");
  constexpr std::size_t bytes = 4 << 20;
  const DeviceMemory memory(sim_device(), bytes);
  const DeviceMemory host(sim_device(), bytes, MemoryKind::pinned);
  const Stream stream(sim_device());
  const Event begin(sim_device(), Event::Use::timing), end(sim_device(), Event::Use::timing);
  begin.record(stream);
  stream.copy(memory.data(), host.data(), bytes);
  end.record(stream);
  end.synchronize();
  EXPECT_GE(Event::seconds_between(begin, end), 5.1e-3);
}

TEST_F(DeviceStream, ProcessesShareAnEngine) {
  // Of two processes that copy all the time, each gets about half of the rate: 4 MiB at 400 MB/s are 10 ms alone.
  constexpr std::size_t bytes = 4 << 20;
  const auto copy = [] {
    configure("d2h=0:4e8");
    const DeviceMemory memory(sim_device(), bytes);
    const DeviceMemory host(sim_device(), bytes, MemoryKind::pinned);
    const Stream stream(sim_device());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 5; ++i) stream.copy(host.data(), memory.data(), bytes);
    stream.synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_GE(copy(), 0.052);
  Child other([&](Child& parent) {
    parent.send(1);
    (void)parent.receive<int>();
    parent.send(copy());
  });
  (void)other.receive<int>();
  other.send(1);
  const double mine = copy();
  const double theirs = other.receive<double>();
  EXPECT_GE(mine + theirs, 0.15) << "5 transfers each, through one engine: about 0.1 s for both";
}

/// Two streams hand a buffer on `rounds` times: the first writes it, the second reads it. With an event between them,
/// or without. Returns how often what was read is not what was written.
int wrong_reads(bool with_event, int rounds) {
  constexpr std::size_t count = 1000;
  constexpr std::size_t bytes = count * sizeof(std::uint32_t);
  const DeviceMemory buffer(sim_device(), bytes);
  const DeviceMemory in(sim_device(), bytes, MemoryKind::pinned), out(sim_device(), bytes, MemoryKind::pinned);
  const Stream writer(sim_device()), reader(sim_device());
  const Event written(sim_device());
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto values = count_up<std::uint32_t>(count, static_cast<std::uint32_t>(round) << 20);
    std::memcpy(in.data(), values.data(), bytes);
    writer.copy(buffer.data(), in.data(), bytes);
    written.record(writer);
    if (with_event) reader.wait(written);
    reader.copy(out.data(), buffer.data(), bytes);
    reader.synchronize();
    wrong += std::memcmp(out.data(), values.data(), bytes) != 0 ? 1 : 0;
    writer.synchronize();
  }
  return wrong;
}

TEST_F(DeviceStream, ReorderingFindsAMissingWait) {
  for (int seed = 1; seed <= 5; ++seed) {
    configure("reorder=" + std::to_string(seed));
    EXPECT_EQ(wrong_reads(true, 20), 0) << "seed " << seed;
    EXPECT_GT(wrong_reads(false, 20), 3) << "seed " << seed;
  }
}

TEST_F(DeviceStream, ReorderingFindsEachDroppedDependency) {
  // In each round there are two: an event recorded, and waited for.
  configure("reorder=3");
  for (const std::uint64_t dropped : {1, 2, 5, 10}) {
    int caught = 0;
    for (int trial = 0; trial < 12 && caught == 0; ++trial) {
      configure("drop=" + std::to_string(sim_counters().dependencies + dropped));
      caught = wrong_reads(true, 6);
    }
    EXPECT_GT(caught, 0) << "dependency " << dropped;
  }
}

TEST_F(DeviceStream, RefusesTheWorkThatTheSettingNames) {
  const DeviceMemory a(sim_device(), 100), b(sim_device(), 100);
  const Stream stream(sim_device());
  for (int named = 1; named <= 3; ++named) {
    configure("refuse=" + std::to_string(named));
    for (int copy = 1; copy <= 4; ++copy) {
      if (copy == named) {
        EXPECT_THROW(stream.copy(a.data(), b.data(), 100), Error);
      } else {
        EXPECT_NO_THROW(stream.copy(a.data(), b.data(), 100));
      }
    }
    EXPECT_NO_THROW(stream.synchronize());
  }
}

TEST_F(DeviceStream, ReorderingSpoilsWhatIsNotComplete) {
  configure("reorder=1");
  constexpr std::size_t bytes = 1000;
  const DeviceMemory from(sim_device(), bytes), to(sim_device(), bytes, MemoryKind::pinned);
  const Stream stream(sim_device());
  bool spoilt = false;
  for (int trial = 0; trial < 200 && !spoilt; ++trial) {
    stream.copy(to.data(), from.data(), bytes);
    while (!stream.idle()) spoilt = spoilt || static_cast<const volatile std::byte&>(to.data()[999]) == std::byte{0xDB};
    EXPECT_EQ(to.data()[999], std::byte{0});
  }
  EXPECT_TRUE(spoilt);
}

}  // namespace
}  // namespace laneway
