#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("LANEWAY_DEVICE_PLUGINS", SIM_DEVICE, 1);
  setenv("LANEWAY_SIM_DEVICE", "devices=4,links=0-1x4+1-2x2+0-3,link_rate=50e9,memory=268435456", 1);
  testing::InitGoogleTest(&argc, argv);
  // Tests that die begin in a fresh process, in which no plugin is loaded.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  return RUN_ALL_TESTS();
}
