#pragma once

#include <sched.h>

#include <atomic>

#include "core/simulated.hpp"

namespace laneway {

/// Turns after which a waiting loop yields. Ranks that share cores wait for one that has none as likely as not;
/// yielding costs more than a short exchange, so ranks that are known to have a core each wait for longer.
inline constexpr int impatient_turns = 4;
inline constexpr int patient_turns = 1000;
inline std::atomic<int> turns_before_yield{impatient_turns};

/// One turn of a waiting loop.
inline void relax(int& turns) {
  if (++turns <= turns_before_yield.load(std::memory_order_relaxed)) return;
  if constexpr (simulated)
    pass(1e-6);
  else
    sched_yield();
}

}  // namespace laneway
