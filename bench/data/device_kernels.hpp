#pragma once

#include <laneway/device_kernels.h>

#include "runtime/device/device.hpp"

namespace laneway::bench {

/// Those of the device's plugin, or null.
[[nodiscard]] inline const lnw_device_kernels* find_kernels(const Device& device) {
  return static_cast<const lnw_device_kernels*>(device.table().extension(LNW_DEVICE_KERNELS_EXTENSION));
}

}  // namespace laneway::bench
