#pragma once

#include <cstdint>

namespace laneway {

/// Whether another process of this machine has ended, also if nobody has asked for its status yet. A few system calls;
/// keeps no descriptor. False where the system cannot tell, and of this process.
[[nodiscard]] bool has_ended(std::int64_t process);

}  // namespace laneway
