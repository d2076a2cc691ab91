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
  static ProgressSlot* acquire(Executor& executor);
  /// Gives the slot back. Must not be active.
  void release();

  [[nodiscard]] bool active() const;
  /// Must not be active.
  void start();
  /// Advances this exchange and every other active one. True, and inactive again, when this one is complete.
  bool test();
  /// Returns when this exchange is complete, advancing all others meanwhile. `exclusive`: no other thread can be inside
  /// the library, so that the executor alone may wait when no other exchange is active.
  void wait(bool exclusive);

 private:
  friend void progress_all();
  enum class State { free, idle, active, busy, complete };

  bool advance();
  void finish();

  std::atomic<State> state_{State::free};
  Executor* executor_ = nullptr;
  std::exception_ptr failure_;
  ProgressSlot* next_ = nullptr;
};

/// Advances all active exchanges of this process.
void progress_all();

/// Whether any exchange of this process is active.
[[nodiscard]] bool any_active();

/// Calls `done` until it returns true, advancing all exchanges and giving way to other processes in between.
template <class F>
void progress_until(F&& done) {
  for (int turns = 0; !done(); relax(turns)) progress_all();
}

}  // namespace laneway
