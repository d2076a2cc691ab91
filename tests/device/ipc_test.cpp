#include "runtime/carriers/device/ipc.hpp"

#include <sys/mman.h>

#include "sim.hpp"

namespace laneway {
namespace {

constexpr std::size_t shared_count = 5000;
constexpr std::size_t shared_bytes = shared_count * sizeof(std::uint32_t);

TEST(DeviceIpc, AnotherProcessReadsAndWrites) {
  Child other([](Child& parent) {
    const IpcMapping mapping(sim_device(1), parent.receive<SharedDeviceMemory>());
    EXPECT_EQ(memory_at(mapping.data()).kind, MemoryKind::device);
    EXPECT_TRUE(memory_at(mapping.data()).imported);
    EXPECT_EQ(memory_at(mapping.data()).device, 2) << "where it is, not who opened it";
    EXPECT_EQ(read<std::uint32_t>(mapping.data(), shared_count - 10), count_up<std::uint32_t>(shared_count - 10, 10));
    const Stream stream(sim_device(1));
    stream.fill(mapping.data(), 7, 4);
    stream.synchronize();
    parent.send(1);
    EXPECT_NE(thrown([&] { (void)share_device_memory(mapping.data()); }, ErrorKind::unsupported), "");
  });
  const DeviceMemory memory(sim_device(2), shared_bytes);
  write(memory.data(), count_up<std::uint32_t>(shared_count));
  other.send(share_device_memory(memory.data() + 40));
  (void)other.receive<int>();
  EXPECT_EQ(read<std::uint32_t>(memory.data() + 36, 2), (std::vector<std::uint32_t>{9, 0x07070707}));
}

TEST(DeviceIpc, InOneProcessItIsThePointer) {
  const DeviceMemory memory(sim_device(), shared_bytes);
  EXPECT_EQ(IpcMapping(sim_device(1), share_device_memory(memory.data() + 12)).data(), memory.data() + 12);
  EXPECT_EQ(open_ipc_mappings(), 0u);
}

TEST(DeviceIpc, MappingsAreKeptAndShared) {
  Child other([](Child& parent) {
    const auto shared = parent.receive<SharedDeviceMemory>();
    const std::uint64_t before = sim_counters().memory_mappings_opened;
    std::byte* place = nullptr;
    {
      const IpcMapping first(sim_device(), shared);
      const IpcMapping second(sim_device(), shared);
      place = first.data();
      EXPECT_EQ(second.data(), place);
    }
    EXPECT_EQ(IpcMapping(sim_device(), shared).data(), place);
    EXPECT_EQ(sim_counters().memory_mappings_opened, before + 1);
    EXPECT_EQ(open_ipc_mappings(), 1u);
    close_unused_ipc_mappings();
    EXPECT_EQ(open_ipc_mappings(), 0u);
    EXPECT_EQ(sim_counters().memory_mappings_closed, before + 1);
    parent.send(1);
  });
  const DeviceMemory memory(sim_device(), shared_bytes);
  other.send(share_device_memory(memory.data()));
  (void)other.receive<int>();
}

TEST(DeviceIpc, MemoryThatIsFreedAndAllocatedAgainIsNotMistaken) {
  Child other([](Child& parent) {
    // Unused, the old mapping is closed; in use, it stays what it was, next to the new one.
    for (const bool in_use : {false, true}) {
      IpcMapping old(sim_device(), parent.receive<SharedDeviceMemory>());
      EXPECT_EQ(read<std::uint32_t>(old.data(), shared_count), count_up<std::uint32_t>(shared_count, 100));
      if (!in_use) old = {};
      const std::size_t kept = open_ipc_mappings();
      parent.send(1);
      {
        const IpcMapping again(sim_device(), parent.receive<SharedDeviceMemory>());
        EXPECT_EQ(read<std::uint32_t>(again.data(), shared_count), count_up<std::uint32_t>(shared_count, 900));
        EXPECT_EQ(open_ipc_mappings(), kept);
        if (in_use) {
          EXPECT_EQ(read<std::uint32_t>(old.data(), shared_count), count_up<std::uint32_t>(shared_count, 100));
        }
      }
      parent.send(1);
    }
    close_unused_ipc_mappings();
    EXPECT_EQ(sim_counters().memory_mappings_opened, 4u);
  });
  for (int i = 0; i < 2; ++i) {
    std::byte* place = nullptr;
    {
      const DeviceMemory memory(sim_device(), shared_bytes);
      place = memory.data();
      write(place, count_up<std::uint32_t>(shared_count, 100));
      other.send(share_device_memory(place));
      (void)other.receive<int>();
    }
    const DeviceMemory again(sim_device(), shared_bytes);
    ASSERT_EQ(again.data(), place);
    write(place, count_up<std::uint32_t>(shared_count, 900));
    other.send(share_device_memory(place));
    (void)other.receive<int>();
  }
}

TEST(DeviceIpc, RoomIsMadeForOthers) {
  Child other([](Child& parent) {
    setenv("LANEWAY_IPC_CACHE", "3", 1);
    std::vector<IpcMapping> used;
    for (int i = 0; i < 6; ++i) {
      IpcMapping mapping(sim_device(), parent.receive<SharedDeviceMemory>());
      if (i < 2) used.push_back(std::move(mapping));
    }
    EXPECT_EQ(open_ipc_mappings(), 3u);
    for (const IpcMapping& mapping : used) EXPECT_EQ(memory_at(mapping.data()).kind, MemoryKind::device);
    parent.send(1);
  });
  std::vector<DeviceMemory> memory;
  for (int i = 0; i < 6; ++i) {
    memory.emplace_back(sim_device(), shared_bytes);
    other.send(share_device_memory(memory.back().data()));
  }
  (void)other.receive<int>();
}

TEST(DeviceIpc, MemoryThatIsGoneIsRefused) {
  Child other([](Child& parent) {
    const auto shared = parent.receive<SharedDeviceMemory>();
    EXPECT_NE(thrown([&] { IpcMapping(sim_device(), shared); }, ErrorKind::buffer).find("was freed"),
              std::string::npos);
  });
  DeviceMemory memory(sim_device(), shared_bytes);
  const SharedDeviceMemory shared = share_device_memory(memory.data());
  memory = {};
  other.send(shared);
  EXPECT_EQ(other.wait(), 0);
}

TEST(DeviceIpc, OnlyDeviceMemoryIsSharedAndOnlyWithItsVendor) {
  const DeviceMemory pinned(sim_device(), 100, MemoryKind::pinned);
  EXPECT_NE(thrown([&] { (void)share_device_memory(pinned.data()); }, ErrorKind::unsupported).find("not pinned"),
            std::string::npos);
  SharedDeviceMemory other{};
  std::strcpy(other.vendor, "amd");
  EXPECT_NE(thrown([&] { IpcMapping(sim_device(), other); }, ErrorKind::unsupported).find("a device of amd"),
            std::string::npos);
}

TEST(DeviceIpc, EventsOrderStreamsOfTwoProcesses) {
  struct Shared {
    SharedDeviceMemory memory;
    lnw_ipc_event written;
  };
  constexpr int rounds = 20;
  Child other([](Child& parent) {
    configure("reorder=5");
    const auto shared = parent.receive<Shared>();
    const IpcMapping mapping(sim_device(), shared.memory);
    const Event written(sim_device(), shared.written);
    const Event done(sim_device(), Event::Use::between_processes);
    const Stream stream(sim_device());
    parent.send(done.share());
    const DeviceMemory copy(sim_device(), shared_bytes, MemoryKind::pinned);
    for (int round = 0; round < rounds; ++round) {
      (void)parent.receive<int>();
      stream.wait(written);
      stream.copy(copy.data(), mapping.data(), shared_bytes);
      done.record(stream);
      parent.send(1);
      stream.synchronize();
      const auto expected = count_up<std::uint32_t>(shared_count, static_cast<std::uint32_t>(round) << 16);
      EXPECT_EQ(std::memcmp(copy.data(), expected.data(), shared_bytes), 0) << "round " << round;
    }
    parent.send(1);
  });
  configure("reorder=6");
  const DeviceMemory memory(sim_device(), shared_bytes);
  const DeviceMemory values(sim_device(), shared_bytes, MemoryKind::pinned);
  const Event written(sim_device(), Event::Use::between_processes);
  const Stream stream(sim_device());
  other.send(Shared{share_device_memory(memory.data()), written.share()});
  const Event done(sim_device(), other.receive<lnw_ipc_event>());
  for (int round = 0; round < rounds; ++round) {
    const auto now = count_up<std::uint32_t>(shared_count, static_cast<std::uint32_t>(round) << 16);
    std::memcpy(values.data(), now.data(), shared_bytes);
    stream.wait(done);
    stream.copy(memory.data(), values.data(), shared_bytes);
    written.record(stream);
    other.send(1);
    (void)other.receive<int>();
    stream.synchronize();
  }
  (void)other.receive<int>();
  configure("reorder=off");
}

TEST(DeviceIpc, StreamsOfTwoProcessesWaitForWordsThatTheyShare) {
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const words = static_cast<std::uint64_t*>(shared);
  Child other([&](Child& parent) {
    const HostRegistration registration(sim_device(), shared, 4096);
    const Stream stream(sim_device());
    for (std::uint64_t round = 1; round <= 10; ++round) {
      stream.wait(&words[0], round);
      stream.write(&words[8], round);
    }
    stream.synchronize();
    parent.send(1);
  });
  const HostRegistration registration(sim_device(), shared, 4096);
  const Stream stream(sim_device());
  for (std::uint64_t round = 1; round <= 10; ++round) {
    stream.write(&words[0], round);
    stream.wait(&words[8], round);
  }
  stream.synchronize();
  EXPECT_EQ(words[8], 10u);
  (void)other.receive<int>();
  munmap(shared, 4096);
}

}  // namespace
}  // namespace laneway
