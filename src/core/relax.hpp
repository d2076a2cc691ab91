#pragma once

#include <sched.h>

namespace laneway {

/// One turn of a waiting loop: spins briefly, then yields, since oversubscribed ranks must not lose a time slice each.
inline void relax(int& turns) {
  constexpr int turns_before_yield = 16;
  if (++turns > turns_before_yield) sched_yield();
}

}  // namespace laneway
