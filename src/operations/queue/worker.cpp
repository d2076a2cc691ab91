#include "operations/queue/worker.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/process/signals.hpp"
#include "operations/queue/queue.hpp"
#include "runtime/executor/progress.hpp"
#include "runtime/executor/progress_thread.hpp"

namespace laneway {

namespace {

std::mutex queues_mutex;
std::vector<Queue*> queues;
std::mutex worker_mutex;        // of starting and stopping
std::thread* worker = nullptr;  // never destroyed with the program, which may end without stopping the thread
std::atomic<bool> ending{false};

/// Pieces of work, and who attends to them in units of `attendant`.
constexpr int attendant = 1 << 24;
std::atomic<int> work{0};

/// A stream that waits for its exchange loses what this loses; a thread that shares its core loses what this takes.
class Pauses {
 public:
  void reset() { turns_ = 0; }
  void take() {
    if (++turns_ < turns_before_sleep)
      sched_yield();
    else
      std::this_thread::sleep_for(turns_ < turns_before_long_sleep ? short_sleep : long_sleep);
  }

 private:
  static constexpr int turns_before_sleep = 100;
  static constexpr int turns_before_long_sleep = 2000;
  static constexpr std::chrono::microseconds short_sleep{10};
  static constexpr std::chrono::microseconds long_sleep{50};
  int turns_ = 0;
};

bool unattended(int state) {
  return state > 0 && state < attendant;
}

void change_work(int difference) {
  const int before = work.fetch_add(difference);
  if (!unattended(before) && unattended(before + difference)) work.notify_one();
}

void wait_until_unattended() {
  for (int state = work.load(); !unattended(state); state = work.load()) work.wait(state);
}

void run_worker() {
  prctl(PR_SET_NAME, "laneway-queues");
  prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds: sleeps are short
  Pauses pauses;
  while (!ending.load(std::memory_order_acquire)) {
    wait_until_unattended();
    progress_all();
    if (advance_queues())
      pauses.reset();
    else
      pauses.take();
  }
}

void stop_worker() {
  const std::lock_guard lock(worker_mutex);
  if (worker == nullptr) return;
  ending.store(true, std::memory_order_release);
  give_work(1);
  worker->join();
  take_work(1);
  delete std::exchange(worker, nullptr);
}

}  // namespace

void hire(Queue& queue) {
  {
    const std::lock_guard lock(worker_mutex);
    if (worker == nullptr) {
      stop_before_progress_thread(stop_worker);
      const BlockedSignals blocked;
      ending.store(false, std::memory_order_relaxed);
      worker = new std::thread(run_worker);
    }
  }
  const std::lock_guard lock(queues_mutex);
  queues.push_back(&queue);
}

void dismiss(Queue& queue, bool has_graphs) {
  if (has_graphs) take_work(1);
  const std::lock_guard lock(queues_mutex);
  std::erase(queues, &queue);
}

void give_work(int pieces) {
  change_work(pieces);
}

void take_work(int pieces) {
  work.fetch_sub(pieces);
}

bool advance_queues() {
  const std::unique_lock lock(queues_mutex, std::try_to_lock);
  bool something = false;
  for (std::size_t i = 0; lock && i < queues.size(); ++i)
    if (queues[i]->advance()) something = true;
  return something;
}

QueueAttendance::QueueAttendance() {
  work.fetch_add(attendant);
}
QueueAttendance::~QueueAttendance() {
  change_work(-attendant);
}

}  // namespace laneway
