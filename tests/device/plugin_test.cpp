#include "runtime/device/plugin.hpp"

#include <dlfcn.h>

#include "sim.hpp"

namespace laneway {
namespace {

using testing::ExitedWithCode;

std::string fake(const char* which) {
  return std::string(FAKE_PLUGINS) + which + ".so";
}

/// To be called in a process of its own.
[[noreturn]] void load_only(const std::string& plugins, std::size_t expected) {
  setenv("LANEWAY_DEVICE_PLUGINS", plugins.c_str(), 1);
  const bool as_expected = device_plugins().size() == expected;
  std::fputs("end of output\n", stderr);
  _exit(as_expected ? 0 : 1);
}

/// What is written to stderr, all of it.
std::string only(const std::string& what) {
  return "^" + what + "end of output\n$";
}

TEST(DevicePlugin, IsFoundByPath) {
  ASSERT_EQ(device_plugins().size(), 1u);
  EXPECT_STREQ(device_plugins().front().vendor(), "sim");
  EXPECT_EQ(device_plugins().front().path(), SIM_DEVICE);
  EXPECT_TRUE(absent_device_plugins().empty());
  EXPECT_EQ(all_devices().size(), 4u);
}

TEST(DevicePluginDeathTest, ByDefaultNothingIsSaidWhereThereIsNoDriver) {
  const auto load_default = [] {
    unsetenv("LANEWAY_DEVICE_PLUGINS");
    (void)device_plugins();
    std::fputs("end of output\n", stderr);
    _exit(0);
  };
  EXPECT_EXIT(load_default(), ExitedWithCode(0), only(""));
  EXPECT_EXIT(load_only(fake("NO_DRIVER"), 0), ExitedWithCode(0), only(""));
}

#ifdef PLUGIN_cuda
constexpr const char* cuda_plugin = PLUGIN_cuda;
#else
constexpr const char* cuda_plugin = nullptr;
#endif
#ifdef PLUGIN_hip
constexpr const char* hip_plugin = PLUGIN_hip;
#else
constexpr const char* hip_plugin = nullptr;
#endif

TEST(DevicePluginDeathTest, OfNvidiaIsSilentWithoutADriver) {
  if (cuda_plugin == nullptr) GTEST_SKIP() << "the CUDA plugin is not built: there is no nvcc";
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a CUDA driver";
  EXPECT_EXIT(load_only(cuda_plugin, 0), ExitedWithCode(0), only(""));
}

TEST(DevicePluginDeathTest, OfAmdIsSilentWithoutADriver) {
  if (hip_plugin == nullptr) GTEST_SKIP() << "the HIP plugin is not built: there is no hipcc";
  if (access("/dev/kfd", F_OK) == 0) GTEST_SKIP() << "there is an AMD driver";
  EXPECT_EXIT(load_only(hip_plugin, 0), ExitedWithCode(0), only(""));
}

TEST(DevicePluginDeathTest, NoneIsAskedFor) {
  EXPECT_EXIT(load_only("", 0), ExitedWithCode(0), only(""));
}

TEST(DevicePluginDeathTest, AWrongOneIsRefusedInOneLine) {
  const std::string refused = "laneway: the device plugin [^\n]*";
  EXPECT_EXIT(
      load_only(fake("NEWER"), 0), ExitedWithCode(0),
      only(refused + "NEWER.so has version 2 of the table of functions, and version 1 is needed, so it is not used\n"));
  EXPECT_EXIT(load_only(fake("OLDER"), 0), ExitedWithCode(0),
              only(refused + "OLDER.so is older than the library[^\n]*\n"));
  EXPECT_EXIT(load_only(fake("REFUSES"), 0), ExitedWithCode(0), only(refused + "does not have version 1[^\n]*\n"));
  EXPECT_EXIT(load_only(fake("NO_SYMBOL"), 0), ExitedWithCode(0),
              only(refused + "has no symbol laneway_device_table[^\n]*\n"));
  EXPECT_EXIT(load_only("/no/such/plugin.so", 0), ExitedWithCode(0),
              only("laneway: LANEWAY_DEVICE_PLUGINS: /no/such/plugin.so[^\n]*\n"));
}

TEST(DevicePluginDeathTest, TheOthersAreUsedAllTheSame) {
  EXPECT_EXIT(load_only(fake("NEWER") + ":" + SIM_DEVICE, 1), ExitedWithCode(0), "version 2");
}

TEST(DevicePluginDeathTest, WrongSettingsOfTheSimDeviceAreNamed) {
  const auto load_with = [](const char* settings) {
    setenv("LANEWAY_SIM_DEVICE", settings, 1);
    load_only(SIM_DEVICE, 0);
  };
  EXPECT_EXIT(load_with("devices=two"), ExitedWithCode(0), "LANEWAY_SIM_DEVICE: 'devices=two': a number is expected");
  EXPECT_EXIT(load_with("devices=2,links=0-2"), ExitedWithCode(0), "'links=0-2': links as 0-1x4");
  EXPECT_EXIT(load_with("colour=red"), ExitedWithCode(0), "'colour=red': a setting, as NAME=VALUE");
  EXPECT_EXIT(load_with("h2d=fast"), ExitedWithCode(0), "'h2d=fast': SECONDS:BYTES_PER_SECOND");
}

TEST(DevicePlugin, FailuresCarryItsText) {
  const std::string text = thrown([] { DeviceMemory(sim_device(7), 100); }, ErrorKind::device);
  EXPECT_EQ(text, "device plugin for sim: allocate 100 bytes of device memory: there is no sim device 7: there are 4");
  EXPECT_NE(thrown([] { DeviceMemory(sim_device(), std::size_t{1} << 40); }, ErrorKind::device).find("268435456"),
            std::string::npos);
}

TEST(DevicePlugin, DescribesDevicesAndLinks) {
  const lnw_device_info info = sim_device(2).info();
  EXPECT_STREQ(info.name, "Laneway sim device 2");
  EXPECT_NE(info.features & LNW_DEVICE_HAS_IPC_MEMORY, 0u);
  const auto expect_link = [](int a, int b, int links, int hops) {
    const auto link = sim_device(a).link(sim_device(b));
    ASSERT_TRUE(link);
    EXPECT_EQ(link->links, links);
    EXPECT_EQ(link->hops, hops);
  };
  expect_link(0, 1, 4, 1);
  expect_link(1, 0, 4, 1);
  expect_link(2, 3, 0, 3);
  expect_link(3, 3, 0, 0);
  EXPECT_EQ(sim_device(0).link(sim_device(1))->bytes_per_second, 200e9);
}

}  // namespace
}  // namespace laneway
