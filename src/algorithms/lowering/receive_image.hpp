#pragma once

#include "algorithms/lowering/through_host.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// Lets a plan that reads what it has in a receive buffer on a device, as those of dense operations do, do so in an
/// image of it: memory of the plan's shadow. What it reads there first is copied in, and what it has written is copied
/// back, both in pieces that messages and copies wait for one by one. What comes from a send buffer on a device goes
/// into the image in such pieces, too. Bytes that are written once and not read again, as those that a rank sends to
/// itself, are none of the image's: through_host or the device moves them. A plan that reads nothing there stays as it
/// is.
[[nodiscard]] Plan with_receive_image(Plan plan, const OnDevice& buffers);

}  // namespace laneway
