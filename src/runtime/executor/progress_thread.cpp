#include "runtime/executor/progress_thread.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/process/signals.hpp"
#include "runtime/executor/progress.hpp"

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

std::atomic<void (*)()> stopped_before{nullptr};

}  // namespace

void start_progress_thread() {
  const std::lock_guard lock(starting_or_stopping);
  if (running != nullptr) return;
  const BlockedSignals blocked;
  stopping.store(false, std::memory_order_relaxed);
  running = new std::thread(poll);
}

void stop_before_progress_thread(void (*stop)()) {
  stopped_before.store(stop, std::memory_order_release);
}

void stop_progress_thread() {
  if (void (*const stop)() = stopped_before.load(std::memory_order_acquire)) stop();
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
