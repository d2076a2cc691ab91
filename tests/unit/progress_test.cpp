#include "runtime/executor/progress.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/executor/now_and_then.hpp"
#include "runtime/executor/progress_thread.hpp"

namespace laneway {
namespace {

/// Complete after so many turns, or failed. Not protected against two threads at a time: the list has to do that.
class Turns final : public Progressive {
 public:
  explicit Turns(int turns, bool fails = false) : left_(turns), fails_(fails) {}

  bool progress() override {
    if (--left_ > 0) return false;
    if (fails_) throw std::runtime_error("failed");
    return true;
  }
  [[nodiscard]] int left() const { return left_; }

 private:
  int left_;
  bool fails_;
};

enum class First { active, idle };

/// Work with a place in a list.
class Listed {
 public:
  Listed(Progress progress, int turns, bool fails = false, First first = First::active)
      : work_(turns, fails), slot_(progress_list(progress).acquire(work_)) {
    if (first == First::active) slot_->activate();
  }
  ~Listed() { slot_->release(); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

  void activate() { slot_->activate(); }
  [[nodiscard]] const ProgressSlot* slot() const { return slot_; }
  [[nodiscard]] int left() const { return work_.left(); }
  [[nodiscard]] bool active() const { return slot_->active(); }
  [[nodiscard]] bool done() const { return slot_->done(); }
  [[nodiscard]] bool test() { return slot_->test(); }
  void wait() {
    progress_until([&] { return test(); });
  }
  /// Without a call that advances anything.
  void wait_for_the_thread() const {
    while (!done()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  Turns work_;
  ProgressSlot* slot_;
};

class ProgressThread : public testing::Test {
 protected:
  void SetUp() override { start_progress_thread(); }
  void TearDown() override {
    stop_progress_thread();
    EXPECT_FALSE(any_active());
  }
};

TEST(Progress, AnyCallAdvancesWhatIsListed) {
  for (const Progress progress : {Progress::in_calls, Progress::by_thread}) {
    Listed first(progress, 3), second(progress, 2);
    EXPECT_TRUE(any_active());
    EXPECT_FALSE(first.test());
    second.wait();
    EXPECT_FALSE(second.active());
    EXPECT_EQ(first.left(), 1);
    progress_all();
    EXPECT_FALSE(any_active());
    EXPECT_TRUE(first.active());
    EXPECT_TRUE(first.done());
    EXPECT_TRUE(first.test());
    EXPECT_FALSE(first.active());
    EXPECT_TRUE(first.test());
  }
}

using Many = std::vector<std::unique_ptr<Listed>>;

Many make_idle(std::size_t n) {
  Many made;
  for (std::size_t i = 0; i < n; ++i)
    made.push_back(std::make_unique<Listed>(Progress::in_calls, 1, false, First::idle));
  return made;
}

/// Calls of which many follow each other advance nothing most times, but always again.
TEST(Progress, NowAndThenAdvancesWhatIsListed) {
  constexpr int turns = 1'000'000;
  Listed work(Progress::in_calls, turns);
  constexpr int calls = 1000;
  for (int call = 0; call < calls; ++call) progress_now_and_then();
  EXPECT_LT(work.left(), turns);
  const int left = work.left();
  for (int call = 0; call < calls; ++call) {
    std::this_thread::sleep_for(std::chrono::microseconds(2));
    progress_now_and_then();
  }
  // Not at each: one that has lost its core for long is followed by some that look at nothing for as long.
  EXPECT_LT(work.left(), left - calls / 4);
  while (!work.test()) progress_all();
}

TEST(Progress, CostsNoMoreBesideIdleAndFreedWork) {
  constexpr std::size_t many = 10000;
  ProgressList& list = progress_list(Progress::in_calls);
  const auto looks_of_one = [&] {
    Listed one(Progress::in_calls, 3);
    (void)list.advance();  // sets that have become idle leave the active ones
    const int looks = list.advance();
    one.wait();
    return looks;
  };
  const int alone = looks_of_one();
  EXPECT_LE(alone, 2);
  Many idle = make_idle(many);
  EXPECT_EQ(looks_of_one(), alone);
  for (const auto& each : idle) each->activate();
  EXPECT_GE(list.advance(), static_cast<int>(many));
  for (const auto& each : idle) EXPECT_TRUE(each->test());
  EXPECT_EQ(looks_of_one(), alone);
  idle.resize(many / 2);
  EXPECT_EQ(looks_of_one(), alone);
  idle.clear();
  EXPECT_EQ(looks_of_one(), alone);
}

TEST(Progress, FreedSlotsAreUsedAgain) {
  std::set<const ProgressSlot*> slots;
  for (int round = 0; round < 3; ++round) {
    Many all = make_idle(5000);
    for (std::size_t i = 0; i < all.size(); i += 2) all[i].reset();
    for (auto& each : all)
      if (!each) each = std::make_unique<Listed>(Progress::in_calls, 1, false, First::idle);
    std::set<const ProgressSlot*> taken;
    for (const auto& each : all) taken.insert(each->slot());
    EXPECT_EQ(taken.size(), all.size());
    slots.merge(taken);
  }
  EXPECT_EQ(slots.size(), 5000);
}

TEST(Progress, ThreadsThatTakeAndFreeSlotsLoseNothing) {
  const auto use = [] {
    for (int round = 0; round < 200; ++round) {
      Many some = make_idle(100);
      for (const auto& each : some) each->activate();
      for (const auto& each : some) {
        each->wait();
        EXPECT_EQ(each->left(), 0);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(use);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(any_active());
  (void)progress_list(Progress::in_calls).advance();
  EXPECT_EQ(progress_list(Progress::in_calls).advance(), 0);
}

TEST_F(ProgressThread, CompletesItsWorkWhileNobodyCalls) {
  for (int turn = 0; turn < 20; ++turn) {
    Listed work(Progress::by_thread, 10);
    work.wait_for_the_thread();
    EXPECT_FALSE(any_active());
    EXPECT_EQ(work.left(), 0);
    EXPECT_TRUE(work.active());
    EXPECT_TRUE(work.test());
    EXPECT_FALSE(work.active());
  }
}

TEST_F(ProgressThread, LeavesOtherWorkAlone) {
  Listed in_calls(Progress::in_calls, 5), by_thread(Progress::by_thread, 5);
  by_thread.wait_for_the_thread();
  EXPECT_EQ(in_calls.left(), 5);
  in_calls.wait();
  EXPECT_TRUE(by_thread.test());
}

TEST_F(ProgressThread, FailuresAreThrownToWhoeverCompletes) {
  Listed work(Progress::by_thread, 3, true);
  work.wait_for_the_thread();
  EXPECT_TRUE(work.active());
  EXPECT_THROW(work.wait(), std::runtime_error);
  EXPECT_FALSE(work.active());
  EXPECT_TRUE(work.test());
}

TEST_F(ProgressThread, MayBeStoppedAndStartedWhileWorkIsActive) {
  Listed work(Progress::by_thread, 100000);
  for (int turn = 0; turn < 10; ++turn) {
    stop_progress_thread();
    stop_progress_thread();
    const int left = work.left();
    progress_all();
    EXPECT_EQ(work.left(), left - 1);
    start_progress_thread();
    start_progress_thread();
  }
  work.wait();
  EXPECT_EQ(work.left(), 0);
}

TEST_F(ProgressThread, ManyThreadsAdvanceEachOthersWork) {
  const auto use = [](int seed) {
    for (int round = 0; round < 300; ++round) {
      const bool fails = round % 3 == 0;
      Listed first(round % 2 == 0 ? Progress::by_thread : Progress::in_calls, 1 + (seed + round) % 40);
      Listed second(Progress::by_thread, 1 + (seed * 7 + round) % 40, fails);
      if (round % 5 == 0) second.wait_for_the_thread();
      bool failed = false;
      try {
        second.wait();
      } catch (const std::runtime_error&) {
        failed = true;
      }
      first.wait();
      EXPECT_EQ(failed, fails);
      EXPECT_EQ(first.left(), 0);
      EXPECT_EQ(second.left(), 0);
      EXPECT_FALSE(first.active() || second.active());
    }
  };
  std::vector<std::thread> threads;
  for (int seed = 0; seed < 4; ++seed) threads.emplace_back(use, seed);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace laneway
