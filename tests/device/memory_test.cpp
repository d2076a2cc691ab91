#include "runtime/device/memory.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include "sim.hpp"

namespace laneway {
namespace {

using testing::ExitedWithCode;

constexpr std::size_t some_bytes = 10000;

TEST(DeviceMemory, IsRecognisedByAnyAddressInIt) {
  const DeviceMemory device(sim_device(1), some_bytes);
  const DeviceMemory managed(sim_device(2), some_bytes, MemoryKind::managed);
  const DeviceMemory pinned(sim_device(3), some_bytes, MemoryKind::pinned);
  for (const DeviceMemory* memory : {&device, &managed, &pinned})
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4097}, some_bytes - 1}) {
      const MemoryInfo found = memory_at(memory->data() + offset);
      EXPECT_EQ(found.kind, memory->kind());
      EXPECT_EQ(found.device, memory->device().number());
      EXPECT_EQ(found.base, memory->data());
      EXPECT_EQ(found.bytes, some_bytes);
      EXPECT_FALSE(found.imported);
    }
  EXPECT_EQ(memory_at(device.data() + some_bytes).kind, MemoryKind::host);
  EXPECT_EQ(memory_at(device.data() - 1).kind, MemoryKind::host);
  EXPECT_EQ(memory_at(nullptr).kind, MemoryKind::host);
  EXPECT_EQ(memory_at(&some_bytes).kind, MemoryKind::host);
  managed.data()[7] = std::byte{1};
  pinned.data()[7] = std::byte{1};
}

TEST(DeviceMemory, NothingIsRememberedOfWhatWasFreed) {
  std::byte* place = nullptr;
  std::uint64_t first = 0;
  {
    const DeviceMemory memory(sim_device(), some_bytes);
    place = memory.data();
    first = memory_at(place).buffer_id;
  }
  EXPECT_EQ(memory_at(place).kind, MemoryKind::host);
  const DeviceMemory again(sim_device(1), some_bytes);
  ASSERT_EQ(again.data(), place) << "the sim device gives the same address again";
  EXPECT_EQ(memory_at(place).device, 1);
  EXPECT_NE(memory_at(place).buffer_id, first);
}

TEST(DeviceMemory, RegisteredMemoryIsPinnedUntilItIsNot) {
  std::vector<std::byte> memory(some_bytes);
  {
    const HostRegistration registration(sim_device(), memory.data(), memory.size());
    EXPECT_EQ(memory_at(memory.data() + 5).kind, MemoryKind::pinned);
    EXPECT_EQ(memory_at(memory.data() + 5).base, memory.data());
    EXPECT_NE(
        thrown([&] { HostRegistration(sim_device(), memory.data() + 100, 10); }, ErrorKind::device).find("registered"),
        std::string::npos);
  }
  EXPECT_EQ(memory_at(memory.data() + 5).kind, MemoryKind::host);
}

TEST(DeviceMemory, ObjectsFreeItOnce) {
  const std::uint64_t before = sim_counters().allocations;
  DeviceMemory a(sim_device(), 100);
  DeviceMemory b(std::move(a));
  EXPECT_EQ(a.data(), nullptr);
  a = DeviceMemory(sim_device(), 50);
  b = std::move(a);
  EXPECT_EQ(sim_counters().allocations, before + 1);
  b = {};
  EXPECT_EQ(sim_counters().allocations, before);
  EXPECT_EQ(DeviceMemory(sim_device(), 0).data(), nullptr);
  EXPECT_EQ(device_plugins().front()->device_free(0, const_cast<std::uint64_t*>(&before)), LNW_DEVICE_INVALID);
}

TEST(DeviceMemoryDeathTest, TheHostMustNotTouchIt) {
  const auto touch = [] {
    const DeviceMemory memory(sim_device(), some_bytes);
    const volatile std::byte* const place = memory.data() + 4;
    std::fputs("before", stderr);
    (void)*place;
    std::fputs("survived", stderr);
    _exit(0);
  };
  EXPECT_DEATH(touch(), "^before(AddressSanitizer|[^s]|$)");
}

TEST(DeviceMemoryDeathTest, WithoutAPluginEverythingIsTheHosts) {
  const auto look = [] {
    setenv("LANEWAY_DEVICE_PLUGINS", "", 1);
    const bool first = memory_at(&some_bytes).kind == MemoryKind::host;
    const bool remembered = memory_detail::plugins.load() == memory_detail::Plugins::none;
    (void)checked_memory_at(&some_bytes, &some_bytes + 1, "the send buffer");
    _exit(first && remembered && !may_have_devices() ? 0 : 1);
  };
  EXPECT_EXIT(look(), ExitedWithCode(0), "");
}

TEST(DeviceMemoryDeathTest, WithoutItsPluginItIsRefused) {
  const auto look = [] {
    setenv("LANEWAY_DEVICE_PLUGINS", "", 1);
    void* const library = dlopen(SIM_DEVICE, RTLD_NOW);
    const auto get = reinterpret_cast<lnw_device_table_function>(dlsym(library, LNW_DEVICE_TABLE_SYMBOL));
    void* memory = nullptr;
    get(LNW_DEVICE_TABLE_VERSION)->device_malloc(0, some_bytes, &memory);
    const std::string text =
        thrown([&] { (void)checked_memory_at(memory, static_cast<char*>(memory) + 8, "rank 3: the send buffer"); },
               ErrorKind::buffer);
    std::fputs(text.c_str(), stderr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(
      look(), ExitedWithCode(0),
      "^rank 3: the send buffer: the host cannot read at 0x[0-9a-f]+, and no device plugin .loaded: none. knows");
}

TEST(DeviceMemory, WrongBuffersAreNamed) {
  const auto check = [](const std::byte* begin, const std::byte* end) {
    return thrown([&] { (void)checked_memory_at(begin, end, "the receive buffer"); }, ErrorKind::buffer);
  };
  const std::byte* freed = nullptr;
  {
    const DeviceMemory memory(sim_device(), 12345);
    freed = memory.data();
    EXPECT_NE(check(freed + 12000, freed + 12346).find("leaves the 12345 bytes"), std::string::npos);
    EXPECT_EQ(checked_memory_at(freed, freed + 12345, "the receive buffer").kind, MemoryKind::device);
  }
  EXPECT_NE(check(freed, freed + 1).find("was freed"), std::string::npos);
  EXPECT_EQ(checked_memory_at(freed, freed, "an empty buffer").kind, MemoryKind::host);
  EXPECT_NE(check(nullptr, static_cast<const std::byte*>(nullptr) + 8).find("cannot read at (nil)"), std::string::npos);
  const std::vector<std::byte> host(some_bytes);
  EXPECT_EQ(checked_memory_at(host.data(), host.data() + some_bytes, "the send buffer").kind, MemoryKind::host);
}

TEST(DeviceMemoryDeathTest, OfTwoVendorsIsRefused) {
  const auto look = [] {
    setenv("LANEWAY_DEVICE_PLUGINS", (std::string(SIM_DEVICE) + ":" + FAKE_PLUGINS + "OTHER_VENDOR.so").c_str(), 1);
    const DeviceMemory mine(sim_device(), some_bytes);
    const char theirs[] = "FAKEFAKE";
    const MemoryInfo a = memory_at(mine.data());
    const MemoryInfo b = memory_at(theirs);
    require_same_vendor(a, "send", a, "receive");
    require_same_vendor(a, "send", memory_at(&some_bytes), "receive");
    const std::string text =
        thrown([&] { require_same_vendor(a, "the send buffer", b, "the receive buffer"); }, ErrorKind::buffer);
    std::fputs(text.c_str(), stderr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(
      look(), ExitedWithCode(0),
      "^the send buffer is device memory of sim device 0, and the receive buffer is managed memory of fake device 0");
}

}  // namespace
}  // namespace laneway
