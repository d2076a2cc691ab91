#pragma once

#include <cstdint>
#include <functional>

#include "plan/plan.hpp"

namespace laneway {

/// The last pass: gives each message whose bytes lie in several places staging memory, a copy into it for each part of
/// what is sent, and one out of it for each part of what is received. Messages keep their sizes and channels. A plan
/// without such messages stays as it is.
[[nodiscard]] Plan pack(Plan plan);
/// Only the messages of some steps, before others have been decided.
[[nodiscard]] Plan pack(Plan plan, const std::function<bool(const Step&)>& is_packed);

/// Whether pack would change it.
[[nodiscard]] bool needs_packing(const Plan& plan);

/// The staging memory of pack(plan).
[[nodiscard]] std::int64_t packed_staging_bytes(const Plan& plan);

}  // namespace laneway
