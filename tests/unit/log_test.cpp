#include "base/log.hpp"

#include <gtest/gtest.h>

namespace laneway {
namespace {

TEST(Log, LevelsOfRooms) {
  EXPECT_EQ(level_in("", "choose"), LogLevel::warn);
  EXPECT_EQ(level_in("info", "choose"), LogLevel::info);
  EXPECT_EQ(level_in("debug:device", "choose"), LogLevel::warn);
  EXPECT_EQ(level_in("info,debug:device", "device"), LogLevel::debug);
  EXPECT_EQ(level_in("info,debug:device", "choose"), LogLevel::info);
  EXPECT_EQ(level_in("debug,warn:choose", "choose"), LogLevel::warn);
  EXPECT_EQ(level_in("loud", "choose"), LogLevel::warn);
}

TEST(Log, WhatIsUnknownIsNamedWithTheNearest) {
  for (const char* const good : {"", "warn", "info", "debug:choose,info:interpose,debug:hypre"})
    EXPECT_EQ(complaint_about_log(good), "") << good;
  EXPECT_EQ(complaint_about_log("debug:devise"), "LANEWAY_LOG names the part 'devise': is device meant?");
  EXPECT_EQ(complaint_about_log("inf"), "LANEWAY_LOG names the level 'inf': is info meant?");
  EXPECT_EQ(complaint_about_log("info:elsewhere"),
            "LANEWAY_LOG names the part 'elsewhere'; there are choose, device, hypre, interpose");
}

}  // namespace
}  // namespace laneway
