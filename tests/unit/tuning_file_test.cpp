#include "algorithms/cost/tuning_file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <fstream>
#include <thread>
#include <vector>

namespace laneway {
namespace {

class TuningFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "laneway-tuning-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] TuningFile file() const { return TuningFile(directory_ / "some" / "where" / "tuning"); }
  [[nodiscard]] std::string text() const {
    std::ifstream stream(file().path());
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& text) const {
    std::filesystem::create_directories(file().path().parent_path());
    std::ofstream(file().path()) << text;
  }

  std::filesystem::path directory_;
};

TEST_F(TuningFileTest, RemembersTheLastOutcome) {
  EXPECT_FALSE(file().find(7));
  file().remember(7, {"three_step", 1.5e-4});
  file().remember(8, {"split", 2e-6});
  file().remember(7, {"direct", 0.25});
  ASSERT_TRUE(file().find(7));
  EXPECT_EQ(file().find(7)->strategy, "direct");
  EXPECT_EQ(file().find(7)->seconds, 0.25);
  EXPECT_EQ(file().find(8)->strategy, "split");
  EXPECT_FALSE(file().find(9));
}

TEST_F(TuningFileTest, IsNotWrittenWhereFilesMayNotBeSoLong) {
  file().remember(1, {"two_step", 1e-3});
  const std::string before = text();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit low{before.size(), limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  file().remember(2, {"split", 1e-3});
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(text(), before);
}

TEST_F(TuningFileTest, DamagedLinesAreIgnoredAndSpoilNoOthers) {
  file().remember(1, {"two_step", 1e-3});
  const std::string good = text();
  for (std::size_t cut = 1; cut + 1 < good.size(); ++cut) {
    write(good.substr(0, cut));
    EXPECT_FALSE(file().find(1)) << cut;
    file().remember(2, {"split", 1e-3});
    ASSERT_TRUE(file().find(2)) << cut;
  }
  std::string changed = good;
  changed[changed.find("two")] = 'T';
  write("nonsense\n\n" + changed + std::string("\0\xff\n", 3));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(file().find(1));
  testing::internal::GetCapturedStderr();
}

TEST_F(TuningFileTest, ManyWriteAtATime) {
  constexpr int writers = 8;
  constexpr int entries = 100;
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([this, w] {
      for (int e = 0; e < entries; ++e)
        file().remember(static_cast<std::uint64_t>(w * entries + e), {"load_aware", e * 1e-6});
    });
  for (std::thread& thread : threads) thread.join();
  for (int key = 0; key < writers * entries; ++key) {
    const auto entry = file().find(static_cast<std::uint64_t>(key));
    ASSERT_TRUE(entry) << key;
    EXPECT_EQ(entry->strategy, "load_aware");
    EXPECT_NEAR(entry->seconds, (key % entries) * 1e-6, 1e-12);
  }
}

TEST_F(TuningFileTest, WhatCannotBeWrittenIsNotRemembered) {
  std::ofstream(directory_ / "some") << "a file, no directory";
  testing::internal::CaptureStderr();
  file().remember(1, {"direct", 1});
  EXPECT_FALSE(file().find(1));
  testing::internal::GetCapturedStderr();
}

TEST_F(TuningFileTest, LiesInTheCacheOfTheUser) {
  const auto path = [](const char* cache, const char* home) {
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("HOME", home, 1);
    const auto found = TuningFile::of_user();
    return found ? found->path().string() : "none";
  };
  EXPECT_EQ(path("/a/cache", "/home/user"), "/a/cache/laneway/tuning");
  EXPECT_EQ(path("relative", "/home/user"), "/home/user/.cache/laneway/tuning");
  EXPECT_EQ(path("", ""), "none");
}

}  // namespace
}  // namespace laneway
