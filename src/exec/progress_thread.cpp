#include "exec/progress_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "exec/progress.hpp"

namespace laneway {

namespace {

constexpr std::chrono::microseconds shortest_pause{20};
constexpr std::chrono::microseconds longest_pause{200};

std::mutex starting_or_stopping;
std::thread* running = nullptr;  // never destroyed with the program, which may end without stopping the thread
std::atomic<bool> stopping{false};

void poll() {
  ProgressList& list = progress_list(Progress::by_thread);
  std::chrono::microseconds pause = shortest_pause;
  for (int before = 0;;) {
    list.wait_until_unattended();
    std::this_thread::sleep_for(pause);  // most often, who starts something waits for it next
    if (stopping.load(std::memory_order_acquire)) return;
    if (list.unattended()) list.advance();
    const int now = list.active();
    pause = now == before ? std::min(2 * pause, longest_pause) : shortest_pause;
    before = now;
  }
}

/// A thread that is made meanwhile handles no signals: the program's handlers run in the program's threads.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void start_progress_thread() {
  const std::lock_guard lock(starting_or_stopping);
  if (running != nullptr) return;
  const BlockedSignals blocked;
  stopping.store(false, std::memory_order_relaxed);
  running = new std::thread(poll);
}

void stop_progress_thread() {
  const std::lock_guard lock(starting_or_stopping);
  if (running == nullptr) return;
  ProgressList& list = progress_list(Progress::by_thread);
  stopping.store(true, std::memory_order_release);
  list.begin();  // wakes it
  running->join();
  list.end();
  delete std::exchange(running, nullptr);
}

}  // namespace laneway
