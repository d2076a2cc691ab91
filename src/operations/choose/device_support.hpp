#pragma once

#include <optional>
#include <string>

#include "runtime/device/buffers.hpp"

namespace laneway {

/// Whether the MPI library takes addresses of memory on a kind of devices.
struct DeviceSupport {
  bool takes = false;
  std::string why;  ///< for people: "MPIX_Query_cuda_support says so, and a message to itself arrived"
};

/// Asks the MPI library, and lets it prove what it says: it is given two messages from a device to itself, a small and
/// a large one. No address on a device reaches a library that says no, since that may end the process. Once for each
/// plugin, then remembered; local.
///
/// LANEWAY_DEVICE_AWARE_MPI=0 or 1 answers in place of the MPI library, for those that cannot say.
[[nodiscard]] const DeviceSupport& device_support(const Device& device);

/// Of all devices that the buffers are on: takes, if they are on none.
[[nodiscard]] DeviceSupport device_support(const BufferMemory& buffers);

/// What has been decided about devices for an operation, whichever buffers it is given.
struct DeviceUse {
  bool gives_addresses = false;  ///< to the MPI library, where it takes them; whether it does is each rank's business
  bool is_connected = false;     ///< a carrier takes them, whatever the MPI library does
  CopyRule rule = {};
  std::optional<DeviceOperation> combining = {};  ///< what kernels call an operation that reduces, if they know it
};

/// For an executor.
[[nodiscard]] BufferMemory look_at(const Buffers& buffers, const Plan& plan, const DeviceUse& use);
/// As glance_at of an executor's buffers.
[[nodiscard]] inline BufferMemory glance_at(const Buffers& buffers, const Plan& plan, const DeviceUse& use) {
  return has_plugins() ? look_at(buffers, plan, use) : BufferMemory{};
}

}  // namespace laneway
