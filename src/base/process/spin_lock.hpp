#pragma once

#include <atomic>

#include "base/process/relax.hpp"

namespace laneway {

/// For std::unique_lock and std::lock_guard: short work, whose threads wait without the kernel or, by
/// std::try_to_lock, go on without it. So does what the progress engine calls within a call that has the lock, in the
/// same thread.
class SpinLock {
 public:
  [[nodiscard]] bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void lock() noexcept {
    for (int turns = 0; !try_lock(); relax(turns)) {
    }
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace laneway
