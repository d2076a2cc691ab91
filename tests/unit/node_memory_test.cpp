// Ranks as threads that share memory: once as they are, once under ThreadSanitizer.
#include "runtime/carriers/node/node_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "offline/in_process.hpp"
#include "virtual_node.hpp"

namespace laneway {
namespace {

/// The messages that remain, carried under a lock.
class LockedEndpoint final : public Endpoint {
 public:
  LockedEndpoint(std::unique_ptr<Endpoint> endpoint, std::mutex& mutex)
      : endpoint_(std::move(endpoint)), mutex_(mutex) {}

  void start(int first, int count) override {
    const std::lock_guard lock(mutex_);
    endpoint_->start(first, count);
  }
  int poll(std::span<int> completed) override {
    const std::lock_guard lock(mutex_);
    return endpoint_->poll(completed);
  }
  bool test_all() override {
    const std::lock_guard lock(mutex_);
    return endpoint_->test_all();
  }
  void wait_all() override {
    while (!test_all()) std::this_thread::yield();
  }

 private:
  std::unique_ptr<Endpoint> endpoint_;
  std::mutex& mutex_;
};

class LockedTransport final : public Transport {
 public:
  LockedTransport(std::unique_ptr<Transport> transport, std::mutex& mutex)
      : transport_(std::move(transport)), mutex_(mutex) {}
  std::unique_ptr<Endpoint> bind(std::span<const Message> messages) override {
    return std::make_unique<LockedEndpoint>(transport_->bind(messages), mutex_);
  }

 private:
  std::unique_ptr<Transport> transport_;
  std::mutex& mutex_;
};

/// Runs all exchanges of all ranks; whether the bytes are right.
bool run(std::uint64_t seed, const cases::Localized& localized, const cases::Exchanges& data) {
  cases::SharedByAll shared(localized.plans);
  InProcessNetwork network;
  std::mutex mutex;
  std::vector<cases::VirtualRank> ranks;
  ranks.reserve(localized.plans.size());
  for (std::size_t r = 0; r < localized.plans.size(); ++r) {
    LockedTransport transport(network.transport(static_cast<Rank>(r)), mutex);
    ranks.emplace_back(r, localized.plans[r], shared.seen_by(r), transport, data);
  }
  std::atomic<bool> right{true};
  const auto live = [&](std::size_t r) {
    cases::Random random(seed * 100 + r);
    while (right && !ranks[r].finished()) {
      if (!ranks[r].act()) right = false;
      if (random.chance(1))
        std::this_thread::sleep_for(std::chrono::microseconds(random.between(0, 200)));
      else if (random.chance(50))
        std::this_thread::yield();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) threads.emplace_back(live, r);
  for (std::thread& thread : threads) thread.join();
  return right;
}

TEST(NodeMemory, ThreadsAsRanksAgreeWithTheOracle) {
  std::size_t shares = 0;
  const std::uint64_t seeds = cases::effort(cases::sanitized ? 600 : 60);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const cases::Case c = cases::make_case(seed, {.most_ranks = 6});
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const cases::Localized localized = cases::localize(random, c, candidate);
      const bool any = std::ranges::any_of(localized.plans, [](const Plan& plan) { return plan.window_bytes > 0; });
      if (!any) continue;
      ++shares;
      const cases::Exchanges data(random, c.pattern, static_cast<std::size_t>(random.between(3, 20)));
      ASSERT_TRUE(run(seed, localized, data)) << "seed " << seed << " " << candidate.name;
    }
  }
  EXPECT_GT(shares, 0U);
}

}  // namespace
}  // namespace laneway
