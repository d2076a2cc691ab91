#pragma once

#include "algorithms/lowering/through_host.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// Lets moves that combine into a receive buffer on a device run where that is possible. Where the device combines by
/// itself (`buffers.combines`), what comes from a send buffer in the host's memory, which no kernel may reach, is
/// copied into the shadow first. Otherwise what the receive buffer has at these places is copied into the shadow,
/// combined there by the host, and copied back when all has been combined. A plan that combines nothing into a device
/// stays as it is.
[[nodiscard]] Plan place_combining(Plan plan, const OnDevice& buffers);

}  // namespace laneway
