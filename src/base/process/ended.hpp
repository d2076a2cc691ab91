#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/simulated.hpp"

namespace laneway {

/// Whether another process of this machine has ended, also if nobody has asked for its status yet. A few system calls;
/// keeps no descriptor. False where the system cannot tell, and of this process.
[[nodiscard]] bool has_ended(std::int64_t process);

/// How long a rank waits before it asks the system for another, and then again.
inline constexpr std::chrono::milliseconds time_between_questions{20};

/// When a wait asks. By the clock, not after so many looks: where ranks share cores, one may take a time slice.
class Questions {
 public:
  /// Whether one is due, after a look in vain.
  [[nodiscard]] bool are_due() {
    if (simulated || ++looks_ % looks_before_clock != 0) return false;
    const Clock::time_point now = Clock::now();
    if (!last_) last_ = now;
    if (now - *last_ < time_between_questions) return false;
    last_ = now;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned looks_before_clock = 256;

  unsigned looks_ = 0;
  std::optional<Clock::time_point> last_;
};

}  // namespace laneway
