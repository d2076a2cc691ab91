#pragma once

#include <atomic>
#include <exception>

#include "core/relax.hpp"
#include "exec/executor.hpp"

namespace laneway {

/// An executor's place in the process-wide list of exchanges that any Laneway call may advance. No locks: whoever
/// advances an exchange claims its slot by an atomic, and a slot that another thread holds is skipped.
class ProgressSlot {
 public:
  /// Takes a free slot (or adds one; slots are never returned to the system). `executor` must outlive release().
  /// `exclusive`: no other thread can be inside the library.
  static ProgressSlot* acquire(Executor& executor, bool exclusive);
  /// Gives the slot back. Must not be active.
  void release();

  [[nodiscard]] bool active() const { return state_.load(std::memory_order_acquire) != State::idle; }
  /// Must not be active.
  void start() {
    executor_->start();
    count_active(1);
    state_.store(State::active, std::memory_order_release);
  }
  /// Advances this exchange and every other active one. True, and inactive again, when this one is complete.
  bool test();
  /// Returns when this exchange is complete, advancing all others meanwhile.
  void wait() {
    if (exclusive_ && active_slots_.load(std::memory_order_relaxed) == 1 &&
        state_.load(std::memory_order_acquire) == State::active) {
      wait_alone();
      return;
    }
    wait_with_others();
  }

 private:
  friend void progress_all();
  friend bool any_active();
  enum class State { free, idle, active, busy, complete };

  void count_active(int change) {
    if (exclusive_)
      active_slots_.store(active_slots_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    else
      active_slots_.fetch_add(change, std::memory_order_relaxed);
  }
  void wait_alone();
  void wait_with_others();
  bool advance();
  void finish();

  static inline std::atomic<int> active_slots_{0};

  std::atomic<State> state_{State::free};
  bool exclusive_ = false;
  Executor* executor_ = nullptr;
  std::exception_ptr failure_;
  ProgressSlot* next_ = nullptr;
};

/// Advances all active exchanges of this process.
void progress_all();

/// Whether any exchange of this process is active.
[[nodiscard]] inline bool any_active() {
  return ProgressSlot::active_slots_.load(std::memory_order_relaxed) > 0;
}

/// Calls `done` until it returns true, advancing all exchanges and giving way to other processes in between.
template <class F>
void progress_until(F&& done) {
  for (int turns = 0; !done(); relax(turns)) progress_all();
}

}  // namespace laneway
