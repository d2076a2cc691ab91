#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include "core/relax.hpp"
#include "exec/executor.hpp"

namespace laneway {

/// A place in the process-wide list of work that any Laneway call may advance, because other ranks depend on it, such
/// as what this rank relays. No locks: whoever advances the work claims its slot by an atomic, and a slot that another
/// thread holds is skipped.
class ProgressSlot {
 public:
  /// Takes a free slot (or adds one; slots are never returned to the system). `work` must outlive release().
  static ProgressSlot* acquire(Progressive& work);
  /// Gives the slot back. Must not be active.
  void release();

  [[nodiscard]] bool active() const { return state_.load(std::memory_order_acquire) != State::idle; }
  /// From now on the work, which has been started, is advanced. Must not be active.
  void activate();
  /// Advances this work and all other. True, and inactive again, when this one is complete.
  bool test();
  /// As test, but stays active.
  bool done();

 private:
  friend void progress_all();
  friend bool any_active();
  enum class State { free, idle, active, busy, complete };

  bool advance();

  static inline std::atomic<int> active_slots_{0};

  std::atomic<State> state_{State::free};
  Progressive* work_ = nullptr;
  std::exception_ptr failure_;
  ProgressSlot* next_ = nullptr;
};

/// Advances all work of this process that others depend on.
void progress_all();

/// Whether there is such work.
[[nodiscard]] inline bool any_active() {
  return ProgressSlot::active_slots_.load(std::memory_order_relaxed) > 0;
}

/// Calls `done` until it returns true, advancing all exchanges and giving way to other processes in between.
template <class F>
void progress_until(F&& done) {
  for (int turns = 0; !done(); relax(turns)) progress_all();
}

/// Something that has been started and is to be completed by test or wait: an executor, or work that needs a place in
/// the list because others depend on it. Where it fails it is inactive, and the failure is thrown to whoever completes
/// it.
class Activity {
 public:
  Activity() = default;
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Gives `work`, which must outlive this, a place in the list. From then on the functions below ignore `executor`.
  void list(Progressive& work) { slot_ = ProgressSlot::acquire(work); }

  [[nodiscard]] bool active() const { return slot_ == nullptr ? active_ : slot_->active(); }
  void begin() {
    if (slot_ != nullptr) return slot_->activate();
    active_ = true;
  }
  /// Advances this and all work in the list. True, and inactive again, when complete.
  [[nodiscard]] bool test(Executor* executor);
  /// Whether complete or inactive; as test, but stays active.
  [[nodiscard]] bool done(Executor* executor);
  void wait(Executor* executor) {
    if (!active()) return;
    if (slot_ != nullptr || any_active()) return wait_with_others(executor);
    active_ = false;
    executor->wait();
  }

 private:
  void wait_with_others(Executor* executor);

  bool active_ = false;
  ProgressSlot* slot_ = nullptr;
};

/// A bound plan that runs among the process's other exchanges: whoever tests or waits advances all that relay. A plan
/// that relays nothing needs nobody's help, and costs little more than its messages.
class Exchange {
 public:
  Exchange(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport,
           std::shared_ptr<NodeMemory> memory = nullptr)
      : executor_(std::move(plan), buffers, transport, std::move(memory)) {
    if (!executor_.independent()) activity_.list(executor_);
  }

  [[nodiscard]] bool active() const { return activity_.active(); }
  /// Must not be active.
  void start() {
    executor_.start();
    activity_.begin();
  }
  [[nodiscard]] bool test() { return activity_.test(&executor_); }
  [[nodiscard]] bool done() { return activity_.done(&executor_); }
  void wait() { activity_.wait(&executor_); }

 private:
  Executor executor_;
  Activity activity_;
};

}  // namespace laneway
