#pragma once

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace laneway {

/// Threads that do one job after another together: an exchange costs no creation of threads.
class Team {
 public:
  explicit Team(int threads) {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([this, t] { work(t); });
  }
  ~Team() {
    job_ = nullptr;
    number_.fetch_add(1, std::memory_order_release);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// job(t) in each thread t. What it refers to must live until `join`.
  void begin(std::function<void(int)> job) {
    job_ = std::move(job);
    done_.store(0, std::memory_order_relaxed);
    number_.fetch_add(1, std::memory_order_release);
  }
  void join() const {
    while (done_.load(std::memory_order_acquire) < static_cast<int>(threads_.size())) std::this_thread::yield();
  }
  void run(std::function<void(int)> job) {
    begin(std::move(job));
    join();
  }

 private:
  void work(int t) {
    for (long seen = 0;; ++seen) {
      while (number_.load(std::memory_order_acquire) == seen) std::this_thread::yield();
      if (!job_) return;
      job_(t);
      done_.fetch_add(1, std::memory_order_release);
    }
  }

  std::function<void(int)> job_;
  std::atomic<long> number_{0};
  std::atomic<int> done_{0};
  std::vector<std::jthread> threads_;
};

/// How many random exchanges threads make: with LANEWAY_TEST_LONG 200,000, or a tenth of that under ThreadSanitizer.
inline int thread_exchanges(int few) {
#ifdef __SANITIZE_THREAD__
  constexpr int many = 20'000;
#else
  constexpr int many = 200'000;
#endif
  return std::getenv("LANEWAY_TEST_LONG") != nullptr ? many : few;
}

}  // namespace laneway
