#pragma once

#include <cstdint>
#include <utility>

#include "plan/plan.hpp"

namespace laneway {

/// So that what follows so many bytes in staging memory is aligned.
[[nodiscard]] constexpr std::int64_t aligned_bytes(std::int64_t bytes) {
  return (bytes + staging_alignment - 1) / staging_alignment * staging_alignment;
}

/// Takes so many bytes behind `size`, that of a plan's staging memory or shadow. Returns where they begin.
[[nodiscard]] inline std::int64_t reserve(std::int64_t& size, std::int64_t bytes) {
  return std::exchange(size, size + aligned_bytes(bytes));
}

}  // namespace laneway
