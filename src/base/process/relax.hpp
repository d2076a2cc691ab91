#pragma once

#include <sched.h>

#include <atomic>

#include "base/simulated.hpp"

namespace laneway {

/// Turns after which a waiting loop yields. Ranks that share cores wait for one that has none as likely as not;
/// yielding costs more than a short exchange, so ranks that are known to have a core each wait for longer.
inline constexpr int impatient_turns = 4;
inline constexpr int patient_turns = 1000;
inline std::atomic<int> turns_before_yield{impatient_turns};

/// Tells the core that its thread only waits: the other thread on it goes faster, and less energy is used.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#elif defined(__powerpc64__)
  asm volatile("or 27,27,27" ::: "memory");
#endif
}

/// One turn of a waiting loop.
inline void relax(int& turns) {
  if (++turns <= turns_before_yield.load(std::memory_order_relaxed)) {
    pause_core();
    return;
  }
  if constexpr (simulated)
    pass(1e-6);
  else
    sched_yield();
}

}  // namespace laneway
