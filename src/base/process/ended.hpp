#pragma once

#include <chrono>
#include <cstdint>

namespace laneway {

/// Whether another process of this machine has ended, also if nobody has asked for its status yet. A few system calls;
/// keeps no descriptor. False where the system cannot tell, and of this process.
[[nodiscard]] bool has_ended(std::int64_t process);

/// How long a rank waits before it asks the system for another, and then again. Not so many looks: where ranks share
/// cores, one may take a time slice.
inline constexpr std::chrono::milliseconds time_between_questions{20};
/// After how many looks it looks at the clock.
inline constexpr unsigned looks_before_clock = 256;

}  // namespace laneway
