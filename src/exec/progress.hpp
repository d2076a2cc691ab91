#pragma once

#include <atomic>
#include <exception>
#include <memory>

#include "core/relax.hpp"
#include "exec/executor.hpp"

namespace laneway {

/// An executor's place in the process-wide list of exchanges that any Laneway call may advance, because other ranks
/// depend on what this rank relays. No locks: whoever advances an exchange claims its slot by an atomic, and a slot
/// that another thread holds is skipped.
class ProgressSlot {
 public:
  /// Takes a free slot (or adds one; slots are never returned to the system). `executor` must outlive release().
  static ProgressSlot* acquire(Executor& executor);
  /// Gives the slot back. Must not be active.
  void release();

  [[nodiscard]] bool active() const { return state_.load(std::memory_order_acquire) != State::idle; }
  /// Must not be active.
  void start();
  /// Advances this exchange and every other active one. True, and inactive again, when this one is complete.
  bool test();

 private:
  friend void progress_all();
  friend bool any_active();
  enum class State { free, idle, active, busy, complete };

  bool advance();

  static inline std::atomic<int> active_slots_{0};

  std::atomic<State> state_{State::free};
  Executor* executor_ = nullptr;
  std::exception_ptr failure_;
  ProgressSlot* next_ = nullptr;
};

/// Advances all active exchanges of this process that relay.
void progress_all();

/// Whether any exchange of this process that relays is active.
[[nodiscard]] inline bool any_active() {
  return ProgressSlot::active_slots_.load(std::memory_order_relaxed) > 0;
}

/// Calls `done` until it returns true, advancing all exchanges and giving way to other processes in between.
template <class F>
void progress_until(F&& done) {
  for (int turns = 0; !done(); relax(turns)) progress_all();
}

/// A bound plan that runs among the process's other exchanges: whoever tests or waits advances all that relay. A plan
/// that relays nothing needs nobody's help, and costs little more than its messages.
class Exchange {
 public:
  Exchange(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] bool active() const { return slot_ == nullptr ? active_ : slot_->active(); }
  /// Must not be active.
  void start() {
    if (slot_ != nullptr) return slot_->start();
    executor_.start();
    active_ = true;
  }
  /// True, and inactive again, when complete. If it failed, it is inactive too, and the failure is thrown here.
  [[nodiscard]] bool test();
  /// Returns when complete; throws as test does.
  void wait() {
    if (!active()) return;
    if (slot_ != nullptr || any_active()) return wait_with_others();
    active_ = false;
    executor_.wait();
  }

 private:
  void wait_with_others();

  bool active_ = false;
  ProgressSlot* slot_ = nullptr;
  Executor executor_;
};

}  // namespace laneway
