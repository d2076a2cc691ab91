#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/process/relax.hpp"
#include "runtime/executor/executor.hpp"

namespace laneway {

/// Who advances started work.
enum class Progress : std::uint8_t {
  in_calls,   ///< any Laneway call, and the MPI library's progress engine if it has been given progress_in_engine
  by_thread,  ///< the progress thread, too
  helped_by_thread,  ///< the same for work that other ranks may depend on; other work in calls
};

class ProgressSlot;
struct ProgressSlots;

/// Work of this process that is advanced while nobody waits for it, because other ranks depend on it, such as what this
/// rank relays, or because the progress thread shall do so. No locks: whoever advances work claims its slot by an
/// atomic, and a slot that another thread holds is skipped.
class ProgressList {
 public:
  /// The first free slot, or one more; slots are never returned to the system. `work` must outlive the slot's release.
  [[nodiscard]] ProgressSlot* acquire(Progressive& work);

  /// Advances all work that is active. Its cost grows with that alone, not with how many slots there are. Returns how
  /// many slots, and sets of slots, it has looked at.
  int advance();

  /// Whether work is active in any list: cheaper than to count it.
  [[nodiscard]] static bool any_active(const std::array<ProgressList, 2>& lists) {
    const auto state = [&](std::size_t i) { return lists[i].state_.load(std::memory_order_relaxed); };
    return ((state(0) | state(1)) & (attendant - 1)) != 0;
  }
  /// How much work has been started and is not yet found complete.
  [[nodiscard]] int active() const { return state_.load(std::memory_order_relaxed) & (attendant - 1); }
  void begin() { change(1); }
  void end() { state_.fetch_sub(1, std::memory_order_relaxed); }

  /// Between these two the caller calls advance again and again.
  void attend() { state_.fetch_add(attendant, std::memory_order_relaxed); }
  void leave() { change(-attendant); }

  /// Whether work is active and nobody attends to it.
  [[nodiscard]] bool attended() const { return state_.load(std::memory_order_relaxed) >= attendant; }
  [[nodiscard]] bool unattended() const { return unattended(state_.load(std::memory_order_relaxed)); }
  void wait_until_unattended() const {
    for (int state = state_.load(); !unattended(state); state = state_.load()) state_.wait(state);
  }

 private:
  static constexpr int attendant = 1 << 20;

  static bool unattended(int state) { return state > 0 && state < attendant; }
  void change(int difference) {
    if (unattended(state_.fetch_add(difference) + difference)) state_.notify_one();
  }

  std::atomic<ProgressSlots*> first_{nullptr};
  std::atomic<int> state_{0};  // active work, and who attends to it in units of `attendant`
};

inline constinit std::array<ProgressList, 2> progress_lists;

[[nodiscard]] inline ProgressList& progress_list(Progress progress) {
  return progress_lists[progress == Progress::in_calls ? 0 : 1];
}

struct ProgressSet;

/// A place in a list. Only its owner acts on it; any thread may advance the work.
class alignas(64) ProgressSlot {
 public:
  ProgressSlot() = default;
  ProgressSlot(const ProgressSlot&) = delete;
  ProgressSlot& operator=(const ProgressSlot&) = delete;

  /// Gives the slot back. Must not be active.
  void release();

  [[nodiscard]] bool active() const { return state() != State::idle; }
  /// From now on the work, which has been started, is advanced. Must not be active.
  void activate();
  /// True, and inactive again, when the work is complete. Throws what the work has thrown.
  bool test();
  /// Whether complete or inactive.
  [[nodiscard]] bool done() const { return state() == State::complete || state() == State::idle; }

 private:
  friend class ProgressList;
  friend class Activity;
  friend struct ProgressSlots;
  enum class State : std::uint8_t { idle, active, busy, complete };

  [[nodiscard]] State state() const { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool change(State from, State to) {
    return state_.compare_exchange_strong(from, to, std::memory_order_acquire);
  }
  void hold(Progressive& work, ProgressList& list, ProgressSet& set);
  void advance();

  std::atomic<State> state_{State::idle};
  Progressive* work_ = nullptr;
  ProgressList* list_ = nullptr;
  ProgressSet* set_ = nullptr;
  std::exception_ptr failure_;
};

/// How much work is active that somebody besides its owner advances.
[[nodiscard]] inline int active_work() {
  return progress_lists[0].active() + progress_lists[1].active();
}
[[nodiscard]] inline bool any_active() {
  return ProgressList::any_active(progress_lists);
}

/// Advances it.
inline void progress_all() {
  if (!any_active()) return;
  for (ProgressList& list : progress_lists) list.advance();
}

/// For the progress engine of the MPI library: advances all that is active, unless somebody attends to it, or this
/// thread has come here from MPI calls in which it is advancing something. Costs a look where nothing is active.
/// Returns how much work has been completed.
int progress_in_engine();

/// While this lives, its owner calls progress_all so often that the progress thread need not advance anything. Two who
/// do so would get into each other's way, most of all where they share a core.
class Attendance {
 public:
  Attendance() { progress_list(Progress::by_thread).attend(); }
  ~Attendance() { progress_list(Progress::by_thread).leave(); }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;
};

/// Calls `done` until it returns true, advancing all exchanges and giving way to other processes in between.
template <class F>
void progress_until(F&& done) {
  if (done()) return;
  const Attendance attendance;
  for (int turns = 0;; relax(turns)) {
    progress_all();
    if (done()) return;
  }
}

/// Something that has been started and is to be completed by test or wait: an executor, or work in a list. Where it
/// fails it is inactive, and the failure is thrown to whoever completes it.
class Activity {
 public:
  Activity() = default;
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Gives `work`, which must outlive this, a place in a list, where progress_all advances it. From then on the
  /// functions below ignore `executor`.
  void list(Progressive& work, Progress progress) { slot_ = progress_list(progress).acquire(work); }

  [[nodiscard]] bool active() const { return slot_ == nullptr ? active_ : slot_->active(); }
  void begin() {
    if (slot_ != nullptr) return slot_->activate();
    active_ = true;
  }
  /// Advances `executor`. True, and inactive again, when complete.
  [[nodiscard]] bool test(Executor* executor);
  /// Whether complete or inactive; as test, but stays active.
  [[nodiscard]] bool done(Executor* executor);
  /// Advances all work in the lists, too.
  void wait(Executor* executor) {
    if (!active()) return;
    if (slot_ != nullptr || any_active()) return wait_with_others(executor);
    active_ = false;
    executor->wait();
  }
  /// The same, of work that is in a list.
  void wait_listed() {
    if (active()) wait_with_others(nullptr);
  }

 private:
  void wait_with_others(Executor* executor);

  bool active_ = false;
  ProgressSlot* slot_ = nullptr;
};

/// A bound plan that runs among the process's other exchanges: every Laneway call advances all that relay. A plan
/// that relays nothing needs nobody's help, and costs little more than its messages, unless the progress thread shall
/// complete them.
class Exchange {
 public:
  Exchange(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport,
           Progress progress = Progress::in_calls, std::shared_ptr<PlanMemory> memory = nullptr)
      : Exchange(plan, buffers, glance_at(buffers, *plan), transport, progress, std::move(memory)) {}
  Exchange(std::shared_ptr<const Plan> plan, Buffers buffers, const BufferMemory& where, Transport& transport,
           Progress progress, std::shared_ptr<PlanMemory> memory, Combiners combiners = {})
      : executor_(std::move(plan), buffers, where, transport, std::move(memory), std::move(combiners)) {
    if (progress == Progress::by_thread || !executor_.independent())
      activity_.list(executor_, progress == Progress::helped_by_thread && executor_.starts_all_messages()
                                    ? Progress::in_calls
                                    : progress);
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
  [[nodiscard]] Executor& executor() { return executor_; }
  /// See Executor: by any thread, at any time.
  void fire(int event) { executor_.fire(event); }
  [[nodiscard]] bool fire_once(int event) { return executor_.fire_once(event); }
  [[nodiscard]] std::shared_ptr<const ExchangeEvents> events() const { return executor_.events(); }
  [[nodiscard]] bool reached(int event) const { return executor_.reached(event); }
  [[nodiscard]] std::uint64_t exchanges() const { return executor_.exchanges(); }
  /// Both must not be active; see Executor.
  void prepare() { executor_.prepare(); }
  void set_stream(std::optional<lnw_device_stream> stream) { executor_.set_stream(stream); }

 private:
  Executor executor_;
  Activity activity_;
};

}  // namespace laneway
