#pragma once

#include <cstdint>

namespace laneway {

/// What this thread has allocated, in bytes, whether or not it has freed it again. Always 0 under sanitizers, which
/// bring their own allocators.
[[nodiscard]] std::int64_t allocated_bytes_so_far();

}  // namespace laneway
