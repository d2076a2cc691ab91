#pragma once

#include <memory>

#include "runtime/carriers/bound_carrier.hpp"

namespace laneway {

/// What a plan moves from or to memory of devices, lends there and borrows, and its places in a user's stream. Null
/// where it does nothing of that. Gives what it lacks of staging memory and shadow, pinned or on the device.
[[nodiscard]] std::unique_ptr<BoundCarrier> run_on_device(PlanBinding& binding);
/// For a plan that does nothing of that, which then begins after the stream.
[[nodiscard]] std::unique_ptr<BoundCarrier> follow_stream(PlanBinding& binding);

}  // namespace laneway
