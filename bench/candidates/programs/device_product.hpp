#pragma once

#include <span>
#include <vector>

#include "candidates/devices/device_buffers.hpp"
#include "data/device_kernels.hpp"
#include "matrix/csr.hpp"

namespace laneway::bench {

/// Y = A X on a device, for X in the buffers of an exchange: what a rank owns and, behind it, what it has received.
class DeviceProduct {
 public:
  /// `width` numbers in each row of X and Y. Throws Error(unsupported) if the device's plugin has no kernels for it.
  DeviceProduct(const DeviceBuffers& buffers, const matrix::Csr& matrix, int width);

  /// Complete on return.
  void multiply() const;
  [[nodiscard]] std::vector<double> result() const;

 private:
  template <class T>
  [[nodiscard]] DeviceMemory uploaded(std::span<const T> values) const;

  const DeviceBuffers& buffers_;
  const lnw_device_kernels* kernels_;
  int width_;
  DeviceMemory row_begin_;
  DeviceMemory column_;
  DeviceMemory value_;
  DeviceMemory y_;
  lnw_device_csr matrix_{};
};

}  // namespace laneway::bench
