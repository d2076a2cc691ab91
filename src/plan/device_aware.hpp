#pragma once

#include "plan/plan.hpp"
#include "plan/through_host.hpp"

namespace laneway {

/// For a transport that takes addresses on devices: messages stay as they are, but none begins before a first step,
/// which copies nothing and is done when all is in a user's stream that comes before the exchange.
[[nodiscard]] Plan device_aware(Plan plan, const OnDevice& buffers);

}  // namespace laneway
